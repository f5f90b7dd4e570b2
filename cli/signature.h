#pragma once

#include <filesystem>
#include <string>

#include "fmd/report/verify_report.h"

namespace fmd::cli {

// Signatures of receipts and audits by a key that the user has. ssh-keygen of OpenSSH does
// the cryptography. It is run without a shell, with fixed arguments.

// FILE.sig
[[nodiscard]] std::filesystem::path signature_of(const std::filesystem::path& file);

// Writes FILE.sig, made with this private key, or with the public key of one that the
// agent holds. Throws Error(unsupported: no ssh-keygen; bad_option: it refused the key;
// cannot_write).
void sign_file(const std::filesystem::path& file, const std::string& key, bool force);

// Throws as soon as something is missing that sign_file() will need.
void require_signing(const std::string& key);

struct Signer {
  std::string allowed;  // a file of allowed signers, as ssh-keygen reads it; may be empty
  std::string name;     // who must have signed, by the name in that file; may be empty
};

// Whether FILE.sig is a signature of FILE. Without `allowed` anybody may have signed: then
// a good signature is not yet a proof, and the result is `unchecked`. Throws
// Error(unsupported: no ssh-keygen).
[[nodiscard]] Check check_signature(const std::filesystem::path& file,
                                    const Signer& signer);

}  // namespace fmd::cli
