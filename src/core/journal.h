#pragma once

#include <optional>
#include <vector>

#include "core/disk.h"

// How a set of files of one folder is replaced in one step. Every file is complete under
// its temporary name when the set is committed:
//
//   1. beside each side file a note that names OUT, "<side>.fmd-journal"
//   2. the list of all files beside OUT, "<OUT>.fmd-journal": from here on the set is valid
//   3. the renames, OUT last
//   4. the list is removed, then the notes
//
// A run that is killed before step 2 has changed nothing. After step 2 the next run does
// steps 3 and 4. A note leads from a side file to the list. Notes and list hold
// plain names: one that names a file of another folder is refused. A run locks (flock) the
// temporaries, the notes and the list that it makes: one without a lock belongs to a dead
// run.
namespace fmd::internal::journal {

using disk::Path;

// The path behind links, in a folder that exists. Throws Error(cannot_write).
[[nodiscard]] Path resolve(const Path& target);
// The same for a target that may be a folder, without a look at it.
[[nodiscard]] Path resolve_folder(const Path& target);

// Of a resolved target.
[[nodiscard]] Path temporary_of(const Path& target);  // <folder>/.<name>.fmd-tmp
[[nodiscard]] Path journal_of(const Path& target);    // <folder>/<name>.fmd-journal

// Finishes the set that this resolved target is part of, if its run was killed after
// step 2. Waits for a set that is being committed right now. Throws Error(cannot_write)
// for a journal that is damaged, is no regular file, or is locked for more than 10 seconds.
void finish_pending(const Path& target);

// Removes a temporary file if the run that made it is dead.
void remove_if_dead(const Path& temporary);

// A new, locked temporary file for this resolved target. It replaces one that a killed run
// left. Throws Error(cannot_write) when a living run has it.
[[nodiscard]] disk::File claim_temporary(const Path& target, bool folder = false);

// Steps 1 to 4, for targets of one folder. `valid` is set with step 2: from then on the
// temporaries must stay, whatever is thrown.
void commit(const std::vector<Path>& targets, bool& valid);

}  // namespace fmd::internal::journal
