#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "fmd/core/file.h"
#include "fmd/core/output_files.h"
#include "fmd/formats/model_file.h"
#include "fmd/pipeline/audit.h"
#include "fmd/pipeline/compare.h"
#include "fmd/pipeline/debias.h"
#include "fmd/pipeline/explain.h"
#include "fmd/pipeline/read.h"
#include "fmd/pipeline/receipt.h"
#include "fmd/pipeline/scan.h"
#include "fmd/pipeline/study_stream.h"
#include "fmd/pipeline/verify.h"
#include "support/close.h"
#include "support/folder.h"

// A model's way from audit to undo, for tests of backbones, heads and formats. No other
// file of these tests calls the pipeline.
namespace fmd::test {

struct DriveTables {
  Table train, repair, test;
  // Adds what a table file does not hold: see VerifyOptions.
  std::function<void(Table&)> complete = {};
};

struct Driven {
  AuditReport audit;
  ExplainReport explained;
  DebiasReport repaired;
  Vector theta;  // after the repair

  // Of the repaired attribute on the test rows.
  [[nodiscard]] double gap(std::size_t contender) const {
    return repaired.test[contender].audit->find(repaired.repaired[0])->flip->co.value;
  }
};

inline AuditReport drive_audit(const Model& model, const Table& table, const Exec& exec) {
  AuditOptions options;
  options.replicates = 100;
  return audit(ModelInMemory(model), DataSource::table(table), options, exec);
}

// The audit of the same rows from a file of features, which another model of the same
// backbone made.
inline AuditReport drive_features(const Model& made_by, const Model& model,
                                  const Table& table, const Exec& exec) {
  const Folder folder;
  write_text(folder / "rows.csv", to_csv(table));
  {
    StudyStream stream(made_by, made_by.task,
                       DataSource::file((folder / "rows.csv").string()),
                       {.need_labels = true}, exec);
    OutputFiles files({.force = false});
    write_features(made_by, made_by.task, stream, "", files, folder / "rows.features");
    files.commit();
  }
  AuditOptions options;
  options.replicates = 100;
  return audit(ModelInMemory(model), DataSource::file((folder / "rows.features").string()),
               options, exec);
}

inline ScanReport drive_scan(const Model& model, const Table& table, const Exec& exec) {
  return scan(ModelInMemory(model), DataSource::table(table), {}, exec);
}

// The figures of two audits are the same to the bit.
inline void expect_same_audit(const AuditReport& a, const AuditReport& b,
                              const std::string& attribute) {
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.accuracy.value, b.accuracy.value);
  EXPECT_EQ(a.find(attribute)->flip->co.value, b.find(attribute)->flip->co.value);
  EXPECT_EQ(a.find(attribute)->flip->co.low, b.find(attribute)->flip->co.low);
}

inline ExplainReport drive_explain(const Model& model, const DriveTables& tables,
                                   const std::string& attribute, const Exec& exec) {
  ExplainOptions options;
  options.measures = {"co:" + attribute};
  options.check = 20;
  return explain(ModelInMemory(model), DataSource::table(tables.repair),
                 DataSource::table(tables.train), options, exec)
      .report;
}

inline DebiasOptions drive_options(const DriveTables& tables,
                                   const std::string& attribute) {
  DebiasOptions options;
  options.train = DataSource::table(tables.train);
  options.test = DataSource::table(tables.test);
  options.repair = {attribute};
  options.points = 8;
  options.max_accuracy_loss = 0.05;
  options.risk = 0.5;  // few rows: by the point estimate
  options.audit.replicates = 100;
  return options;
}

// Every method gives a candidate that lowers the gap on the hold-out, or says why it
// cannot.
inline void drive_methods(const Model& model, const DriveTables& tables,
                          const std::string& attribute, const Exec& exec) {
  const DataSource data = DataSource::table(tables.repair);
  for (const RepairMethod method :
       {RepairMethod::solve, RepairMethod::path, RepairMethod::step, RepairMethod::remove,
        RepairMethod::replace}) {
    SCOPED_TRACE(to_string(method));
    DebiasOptions options = drive_options(tables, attribute);
    options.method = method;
    options.max_accuracy_loss = 0.1;
    options.best_effort = true;
    const Repair repair = debias(ModelInMemory(model), data, options, exec);
    EXPECT_TRUE(repair.found());
    const DebiasReport& report = repair.report;
    const auto gap = [&](std::size_t contender) {
      return report.holdout[contender].audit->find(attribute)->flip->co.value;
    };
    EXPECT_LT(gap(1), gap(0));
  }
  DebiasOptions averaged = drive_options(tables, attribute);
  averaged.method = RepairMethod::average_column;
  if (model.backbone->columns() == nullptr) {
    EXPECT_ERROR(debias(ModelInMemory(model), data, averaged, exec), ErrorKind::unsupported,
                 "average-column");
  }
}

// Controls, our methods and the rivals on one model.
inline CompareReport drive_compare(const Model& model, const DriveTables& tables,
                                   const Exec& exec) {
  CompareOptions options;
  options.train = DataSource::table(tables.repair);
  options.replicates = 50;
  return compare(ModelInMemory(model), DataSource::table(tables.train), options, exec);
}

// Nothing but memory: what a live object goes through. Verify is the repair a second time,
// undo is the old theta.
inline Driven drive(const ModelSource& source, const DriveTables& tables,
                    const std::string& attribute, const Exec& exec) {
  const Model& model = source.model();
  Driven driven;
  driven.audit = drive_audit(model, tables.test, exec);
  driven.explained = drive_explain(model, tables, attribute, exec);
  const auto repair = [&] {
    return debias(source, DataSource::table(tables.repair),
                  drive_options(tables, attribute), exec);
  };
  Repair repaired = repair();
  EXPECT_TRUE(repaired.found());
  driven.theta = repaired.theta;
  const auto after = source.with_theta(driven.theta);
  driven.repaired = std::move(repaired.report);
  EXPECT_EQ(repair().theta, driven.theta) << "verify: the same repair again";
  const auto undone = after->with_theta(model.theta);
  EXPECT_EQ(drive_audit(undone->model(), tables.test, exec).accuracy.value,
            driven.audit.accuracy.value);
  return driven;
}

// Tables as files in the folder, and read from there, so that verify finds the same.
inline DriveTables drive_files(const Model& model, const DriveTables& tables,
                               const std::filesystem::path& folder) {
  DriveTables read{.train = {}, .repair = {}, .test = {}, .complete = tables.complete};
  const auto pass = [&](const Table& table, const char* name) {
    write_text(folder / name, to_csv(table));
    Table back =
        read_for(model, model.task, DataSource::file((folder / name).string()), {});
    if (tables.complete) tables.complete(back);
    return back;
  };
  read.train = pass(tables.train, "train.csv");
  read.repair = pass(tables.repair, "repair.csv");
  read.test = pass(tables.test, "test.csv");
  return read;
}

// The same through files: OUT, its receipt, verify and undo. The model's bytes are compared
// by their hashes, so that large ones need no memory.
inline Driven drive_file(const std::filesystem::path& path, const ModelFormats& formats,
                         const DriveTables& given, const std::string& attribute,
                         const Exec& exec, const std::filesystem::path& place = {}) {
  const auto original = open_model_file(path, formats);
  const Model& model = original->model();
  const Folder own;
  const std::filesystem::path folder = place.empty() ? own.path() : place;
  const DriveTables tables = drive_files(model, given, folder);
  Driven driven;
  driven.audit = drive_audit(model, tables.test, exec);
  driven.explained = drive_explain(model, tables, attribute, exec);
  const auto rows = [](const Table& table) {
    return DataSource::table(table, hex(sha256_file(table.source)));
  };
  DebiasOptions options = drive_options(tables, attribute);
  options.train = rows(tables.train);
  options.test = rows(tables.test);
  const DebiasFiles names(folder / "out");
  options.save.out = names.out;
  options.save.formats = formats;
  Repair repair = debias(*original, rows(tables.repair), options, exec);
  EXPECT_TRUE(repair.found());
  driven.repaired = std::move(repair.report);
  driven.theta = repair.theta;

  VerifyOptions check;
  check.formats = formats;
  check.complete = tables.complete;
  const VerifyReport verified = verify(names.receipt, check, exec);
  for (const Check& one : verified.checks)
    EXPECT_EQ(one.result, CheckResult::ok) << one.what << ": " << one.detail;
  EXPECT_GE(verified.checks.size(), 8u);

  undo_debias(names.receipt, folder / "back", {});
  const bool several = original->files().size() > 1;
  const auto back = open_model_file(
      several ? folder / "back" / path.filename().string() : folder / "back", formats);
  EXPECT_EQ(back->files().size(), original->files().size());
  for (const auto& [name, bytes] : original->files())
    EXPECT_EQ(back->file_set().hash(name), original->file_set().hash(name))
        << "undo of \"" << name << "\"";
  if (!place.empty()) return driven;

  // A changed byte of any file is found.
  for (const auto& [name, bytes] : original->files()) {
    const auto file =
        several ? names.out / (name.empty() ? path.filename().string() : name) : names.out;
    const std::string good = read_text(file);
    std::string bad = good;
    bad.back() = static_cast<char>(bad.back() ^ 1);
    write_text(file, bad);
    EXPECT_ERROR(undo_debias(names.receipt, folder / "again", {}), ErrorKind::wrong_model,
                 "checksum of " + file.filename().string());
    EXPECT_EQ(verify(names.receipt, check, exec).checks[0].result, CheckResult::differs);
    write_text(file, good);
  }
  return driven;
}

}  // namespace fmd::test
