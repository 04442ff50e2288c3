// A job of one rank: every collective is the identity.
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "comm/rank_group.h"

namespace tandem {

std::unique_ptr<Communicator> make_single_communicator();
std::unique_ptr<RankGroup> make_single_rank_group();

}  // namespace tandem
