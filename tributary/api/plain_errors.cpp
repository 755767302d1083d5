#include "tributary/api/plain_errors.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <filesystem>
#include <new>
#include <regex>
#include <utility>

#include "tributary/base/error.h"
#include "tributary/base/message.h"
#include "tributary/device/device.h"

namespace tributary {

std::string without_flags(const std::string& text) {
  static const std::regex flag("(^|[^A-Za-z0-9/-])--(no-)?([a-z][a-z0-9-]*)");
  std::string plain;
  auto rest = text.begin();
  for (std::sregex_iterator found(text.begin(), text.end(), flag), none; found != none; ++found) {
    plain.append(rest, text.begin() + found->position());
    std::string key = (*found)[3];
    std::replace(key.begin(), key.end(), '-', '_');
    plain += (*found)[1].str() + key + ((*found)[2].length() > 0 ? " = false" : "");
    rest = text.begin() + found->position() + found->length();
  }
  return plain.append(rest, text.end());
}

std::vector<SkippedPicture> without_flags(std::vector<SkippedPicture> skipped) {
  for (SkippedPicture& picture : skipped) picture.reason = without_flags(picture.reason);
  return skipped;
}

void with_plain_errors(const std::function<void()>& work) {
  try {
    work();
  } catch (const MissingFileError& error) {
    throw MissingFileError(without_flags(error.what()));
  } catch (const InputError& error) {
    throw InputError(without_flags(error.what()));
  } catch (const MemoryError& error) {
    throw MemoryError(without_flags(error.what()));
  } catch (const WorkError& error) {
    throw WorkError(without_flags(error.what()));
  } catch (const std::bad_alloc&) {
    throw MemoryError("out of memory; use fewer or smaller pictures");
  } catch (const c10::Error& error) {
    if (is_out_of_memory(error)) throw MemoryError("out of memory; use fewer or smaller pictures, or a smaller batch");
    if (is_out_of_gpu_memory(error))
      throw MemoryError("out of GPU memory; use a smaller batch, or free memory of other programs");
    throw WorkError(first_line(error.what()));
  } catch (const std::filesystem::filesystem_error& error) {
    throw WorkError(first_line(error.what()));
  }
}

}  // namespace tributary
