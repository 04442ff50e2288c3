#pragma once

#include <string>

namespace tandem {

std::string host_name();  // of this machine, as gethostname gives it

}  // namespace tandem
