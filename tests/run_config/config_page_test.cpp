// The page docs/config.md is generated and kept in the tree: it must be what the program prints now.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "run_config/run_config.h"

namespace tandem {
namespace {

TEST(ConfigPage, IsWhatTheProgramPrints) {
  std::ifstream stream(TANDEM_CONFIG_PAGE, std::ios::binary);
  ASSERT_TRUE(stream) << TANDEM_CONFIG_PAGE;
  const std::string page{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  EXPECT_EQ(page, config_reference_markdown()) << "run: ./trainer --help-config > docs/config.md";
}

}  // namespace
}  // namespace tandem
