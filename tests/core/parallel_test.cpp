#include "fmd/core/parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "fmd/core/exec.h"

namespace fmd {

TEST(ThreadPool, CallsEveryNumberOnce) {
  for (const int threads : {1, 2, 4, 7}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    std::vector<std::atomic<int>> calls(1000);
    pool.run(1000, [&](Index i) { ++calls[static_cast<std::size_t>(i)]; });
    for (const auto& count : calls) EXPECT_EQ(count, 1);
  }
}

TEST(ThreadPool, NothingToDoIsDoneAtOnce) {
  ThreadPool pool(3);
  pool.run(0, [](Index) { FAIL(); });
}

TEST(ThreadPool, UsesAtMostSixtyFourThreadsAndAtLeastOne) {
  EXPECT_EQ(ThreadPool(1000).threads(), 64);
  EXPECT_GE(ThreadPool().threads(), 1);
}

TEST(ThreadPool, ManySmallRunsLoseNothing) {
  ThreadPool pool(4);
  for (Index run = 0; run < 5000; ++run) {
    std::atomic<Index> sum = 0;
    pool.run(run % 5, [&](Index i) { sum += i + 1; });
    ASSERT_EQ(sum, (run % 5) * (run % 5 + 1) / 2);
  }
}

TEST(ThreadPool, TheErrorOfTheSmallestNumberComesOut) {
  for (const int threads : {1, 2, 4, 7}) {
    ThreadPool pool(threads);
    for (int repeat = 0; repeat < 300; ++repeat) {
      std::string message;
      try {
        pool.run(64, [](Index i) {
          if (i >= 5 && i % 2 == 1) throw std::runtime_error(std::to_string(i));
        });
      } catch (const std::runtime_error& error) {
        message = error.what();
      }
      ASSERT_EQ(message, "5") << threads;
    }
  }
}

TEST(ThreadPool, WorksOnAfterAnErrorAndLeavesLaterCallsOut) {
  ThreadPool pool(2);
  std::atomic<Index> calls = 0;
  EXPECT_THROW(pool.run(1'000'000,
                        [&](Index i) {
                          ++calls;
                          if (i == 0) throw std::runtime_error("stop");
                        }),
               std::runtime_error);
  EXPECT_LT(calls, 1'000'000);
  calls = 0;
  pool.run(10, [&](Index) { ++calls; });
  EXPECT_EQ(calls, 10);
}

TEST(ThreadPool, ARunInsideARunIsDoneInPlace) {
  ThreadPool pool(4);
  std::atomic<Index> sum = 0;
  pool.run(16, [&](Index i) {
    const auto here = std::this_thread::get_id();
    pool.run(8, [&](Index k) {
      EXPECT_EQ(std::this_thread::get_id(), here);
      sum += 8 * i + k;
    });
  });
  EXPECT_EQ(sum, 128 * 127 / 2);
}

TEST(ThreadPool, TwoThreadsMayShareAPool) {
  ThreadPool pool(3);
  std::atomic<Index> sum = 0;
  const auto work = [&] {
    for (int run = 0; run < 500; ++run) pool.run(20, [&](Index i) { sum += i; });
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(sum, 2 * 500 * 190);
}

TEST(Exec, WithoutAPoolTheCallerDoesEverythingInOrder) {
  std::vector<Index> order;
  Exec().for_each(4, [&](Index i) { order.push_back(i); });
  EXPECT_EQ(order, (std::vector<Index>{0, 1, 2, 3}));
}

TEST(Exec, ProgressComesFromOneThreadAtATimeFirstAndLastIncluded) {
  ThreadPool pool(4);
  std::atomic<int> inside = 0;
  std::vector<Index> seen;
  const Progress progress = [&](std::string_view stage, Index done, Index total) {
    EXPECT_EQ(++inside, 1);
    EXPECT_EQ(stage, "sum");
    EXPECT_EQ(total, 10000);
    seen.push_back(done);
    --inside;
  };
  const Exec exec{.pool = &pool, .progress = &progress};
  std::atomic<Index> done = 0;
  exec.report("sum", 0, 10000);
  const auto start = std::chrono::steady_clock::now();
  exec.for_each(10000, [&](Index) { exec.report("sum", ++done, 10000); });
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  ASSERT_GE(seen.size(), 2u);
  EXPECT_EQ(seen.front(), 0);
  EXPECT_EQ(seen.back(), 10000);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_LE(static_cast<double>(seen.size()), 3 + 20 * taken.count());
}

TEST(Exec, AStageBeginsAnewWithItsNameOrWithZero) {
  std::vector<std::string> seen;
  const Progress progress = [&](std::string_view stage, Index done, Index) {
    seen.push_back(std::string(stage) + std::to_string(done));
  };
  const Exec exec{.progress = &progress};
  exec.report("fit", 1, 9);
  exec.report("fit", 2, 9);  // too soon
  exec.report("fit", 9, 9);
  exec.report("fit", 8, 9);  // late
  exec.report("fit", 9, 9);  // again
  exec.report("fit", 0, 9);
  exec.report("score", 3, 0);
  EXPECT_EQ(seen, (std::vector<std::string>{"fit1", "fit9", "fit0", "score3"}));
  Exec().report("fit", 1, 2);
}

}  // namespace fmd
