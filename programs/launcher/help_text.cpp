#include "launcher/help_text.h"

namespace tandem {
namespace {

constexpr const char* kHosts =
    "Hosts: --hostfile takes Open MPI's files (\"node1 slots=2\"), --hosts the short form. The programs must "
    "lie in\n"
    "the same folder on all hosts. Each host is asked first what it is (launcher machine), through ssh or "
    "the\n"
    "--agent, so that one that cannot be reached is told in seconds. Which network Open MPI takes between "
    "hosts is\n"
    "its choice among all that join them; name one with -- --mca btl_tcp_if_include eth1 (NCCL: "
    "NCCL_SOCKET_IFNAME).\n"
    "Within a Slurm job use --starter srun; --sbatch FILE writes a batch script.\n";

constexpr const char* kResuming =
    "Interrupted, the same command goes on where it stopped: a run counts as done if its record is there and "
    "its\n"
    "launch.json says that config, ranks, hosts, program and environment were the same. A folder that holds "
    "something\n"
    "else is refused; --fresh replaces its runs.\n";

std::string with_exit_status(const std::string& text) {
  return text + '\n' + kExitStatus;
}

}  // namespace

std::string launcher_help() {
  return with_exit_status(
      "Examples:\n"
      "  launcher run --config fashion_resnet.yaml --ranks 2\n"
      "  launcher compare --config fashion_resnet.yaml --links shm,tcp,tcp@0.5gbit+100us\n"
      "  launcher sweep --config fashion_resnet.yaml comm.bucket_mb=0.25,1,4 --set data.limit=6400\n"
      "  launcher report runs/quickstart\n"
      "\n"
      "launcher SUBCOMMAND --help tells more, with examples.\n");
}

std::string run_help() {
  return with_exit_status(
      std::string(
          "Examples:\n"
          "  launcher run --config fashion_resnet.yaml --ranks 2\n"
          "  launcher run --config resnet50.yaml --dry-run                  what would be started here\n"
          "  launcher run --config resnet50.yaml --hosts node1:8,node2:8\n"
          "  launcher run --config resnet50.yaml --hostfile hosts.txt -- --mca btl_tcp_if_include eth1\n"
          "  launcher run --config resnet50.yaml --hosts node1:8,node2:8 --sbatch job.sh\n"
          "\n"
          "Ranks: without --ranks, one per GPU, or one per physical core where there is no GPU. Ranks on "
          "GPUs are\n"
          "ordered so that neighbours share the closest link (CUDA_VISIBLE_DEVICES of your own is left "
          "alone), and\n"
          "bound to the cores near their GPU; CPU ranks each get an equal share of the cores, within one "
          "memory\n"
          "node where that is possible. More ranks than cores share all cores unbound. Arguments after -- go "
          "to\n"
          "mpirun, behind the launcher's own, so they win: launcher run --config X -- --bind-to none\n"
          "\n") +
      kHosts +
      "\n"
      "The run's folder (--out) gets the record, log.txt with all that was printed, and launch.json with how "
      "it\n"
      "ended, which a run that was killed leaves too.\n");
}

std::string compare_help() {
  return with_exit_status(
      std::string(
          "Examples:\n"
          "  launcher compare --config fashion_resnet.yaml --links shm,tcp,paced\n"
          "  launcher compare --config fashion_resnet.yaml gpt_text.yaml --links shm,tcp --repeats 5\n"
          "  launcher compare --config fashion_resnet.yaml --links paced,paced-no-overlap --out "
          "runs/overlap\n"
          "  launcher compare --config resnet50.yaml --links nvlink,pcie --emulate ranks=8     on one GPU\n"
          "\n"
          "Links, separated by commas:\n"
          "  shm, tcp, net, nvlink, pcie, auto   sets comm.link\n"
          "  tcp@0.5gbit+100us                   also paces it: comm.pace_gbit, comm.pace_latency_us; either "
          "alone\n"
          "                                      will do\n"
          "  paced                               short for tcp@1gbit+50us\n"
          "  LINK-no-overlap                     any of them with comm.schedule=after; also LINK:no-overlap\n"
          "\n"
          "Runs are interleaved: each round runs every link once, and begins with another one. The paired "
          "speedup\n"
          "compares runs of the same round; docs/measuring.md has its formula. Each run leaves record.json, "
          "log.txt\n"
          "and launch.json in DIR/LINK/repeat-N/ (of several configs, DIR/CONFIG/LINK/repeat-N/). Timing "
          "runs do not\n"
          "evaluate; --set data.limit=N makes them shorter. The accuracy run is apart, in DIR/accuracy/: it "
          "evaluates\n"
          "and uses the whole data and all steps again, unless --accuracy-set says otherwise.\n"
          "\n") +
      kResuming);
}

std::string sweep_help() {
  return with_exit_status(
      std::string(
          "Examples:\n"
          "  launcher sweep --config fashion_resnet.yaml comm.bucket_mb=0.25,1,4 --set data.limit=6400\n"
          "  launcher sweep --config resnet50.yaml comm.bucket_mb=1,4,8,25 comm.max_ctas=2,4,8 --set "
          "train.max_steps=60\n"
          "  launcher sweep --config gpt_text.yaml train.micro_batch=4,8 --repeats 5 --budget 30\n"
          "\n"
          "Every combination of the values runs --repeats times, interleaved: each round runs every point "
          "once. The\n"
          "table says how each compares with the best, with its interval; a point that is not worse beyond "
          "the\n"
          "noise is said to be as good. Throughput counts the steps after warm-up, so a few dozen steps will "
          "do:\n"
          "--set train.max_steps=60. A point whose run fails is shown as failed, and the sweep ends with "
          "status 1.\n"
          "--budget begins no run that would probably end later.\n"
          "\n") +
      kResuming);
}

std::string report_help() {
  return with_exit_status(
      "Examples:\n"
      "  launcher report runs/fashion_resnet                          one run\n"
      "  launcher report runs/quickstart --format csv                 a comparison, as CSV\n"
      "  launcher report --html runs/sweep > sweep.html               a sweep, as a page for a browser\n"
      "  launcher report runs/mpi runs/ring                           several runs, compared\n"
      "  launcher report from-node1/compare from-node2/compare        runs of several machines, in one "
      "table\n"
      "\n"
      "One run: its page, or how it ended if it did not finish. One comparison or sweep: its table. Several "
      "inputs:\n"
      "one comparison of all their runs, in which runs with the same link, config and machine are repeats. "
      "Runs\n"
      "on different numbers of ranks: weak efficiency if they have the same batch per rank, strong speedup "
      "if\n"
      "they have the same global batch.\n");
}

std::string doctor_help() {
  return "Examples:\n"
         "  launcher doctor                       one rank per GPU, or per core\n"
         "  launcher doctor --ranks 8 --json      as JSON, schema tandem.doctor/1\n"
         "  launcher doctor --machine node7.json  judge a machine from a file\n"
         "\n"
         "Looks at cores, GPUs, links, libraries, limits and variables; starts ranks with mpirun; writes and "
         "reads a\n"
         "pattern between every two GPUs, both ways, and measures what their link gives. Every test has a "
         "time limit.\n"
         "Each finding says what it is, why it matters and what to do.\n"
         "\n"
         "Exit status: 0 healthy, 1 warnings, 2 failures.";
}

std::string bench_help() {
  return "Examples:\n"
         "  launcher bench --ranks 2                                   shm, tcp and a paced link on CPU "
         "ranks\n"
         "  launcher bench --links nvlink,pcie --max-bytes 1gb         on GPUs\n"
         "  launcher bench --links nvlink --variant comm.max_ctas=4 comm.register_gradients=true\n"
         "\n"
         "Per link: all-reduce, reduce-scatter and all-gather from 8 bytes to --max-bytes in nccl-tests' "
         "columns and\n"
         "definitions, results checked; latency of a single all-reduce; small all-reduces per second; "
         "messages between\n"
         "every two CPU ranks, or copies between every two GPUs; a line latency + bytes / bandwidth through "
         "the times.\n"
         "Links are those of launcher compare. The first two links' ratio stands on top.\n"
         "\n"
         "Exit status: 0, or 1 if a result was wrong.";
}

std::string machine_help() {
  return with_exit_status(
      "Examples:\n"
      "  launcher machine > box.json\n"
      "  launcher run --config resnet50.yaml --machine box.json --dry-run     elsewhere: the plan for that "
      "machine\n"
      "\n"
      "Cores, memory nodes, network ports, GPUs and what joins them. A launcher on another host asks for "
      "it.\n");
}

}  // namespace tandem
