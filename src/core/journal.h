#pragma once

#include <optional>
#include <vector>

#include "core/disk.h"

// How a set of files is replaced in one step. Every file is complete under its temporary
// name when the set is committed:
//
//   1. beside each side file a note that names OUT, "<side>.fmd-journal"
//   2. the list of all files beside OUT, "<OUT>.fmd-journal": from here on the set is valid
//   3. the renames, OUT last
//   4. the list is removed, then the notes
//
// A run that is killed before 2 has changed nothing; after 2 whoever comes next does 3
// and 4. A note leads from a side file, which may stand in another folder, to the list.
// Temporaries, notes and list are locked (flock) by the run that makes them: whoever finds
// one without a lock knows that its run is dead.
namespace fmd::journal {

using disk::Path;

// The path behind links, in a folder that exists. Throws Error(cannot_write).
[[nodiscard]] Path resolve(const Path& target);

// Of a resolved target.
[[nodiscard]] Path temporary_of(const Path& target);  // <folder>/.<name>.fmd-tmp
[[nodiscard]] Path journal_of(const Path& target);    // <folder>/<name>.fmd-journal

// Finishes the set that this resolved target is part of, if its run was killed after 2.
// Waits for one that is just being committed.
void finish_pending(const Path& target);

// Removes a temporary file if the run that made it is dead.
void remove_if_dead(const Path& temporary);

// A new, locked temporary file for this resolved target, in place of one that a killed run
// left. Throws Error(cannot_write) when a living run has it.
[[nodiscard]] disk::File claim_temporary(const Path& target);

// Steps 1 to 4. `valid` is set with step 2: then the temporaries must stay, whatever is
// thrown.
void commit(const std::vector<Path>& targets, bool& valid);

}  // namespace fmd::journal
