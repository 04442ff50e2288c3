// What `launcher doctor` prints. Pure functions.
#pragma once

#include <string>

#include "doctor/rules.h"

namespace tandem {

// Host, GPUs, link matrix, libraries, tests, then every finding, then the verdict.
std::string doctor_text(const Patient& patient, const Findings& findings);

// The same of a machine that is only known from a file.
std::string machine_text(const Patient& patient, const Findings& findings);

// Warnings and failures only, for the lines above a run.
std::string findings_text(const Findings& findings, Severity least);

// The matrix of `nvidia-smi topo -m`: what joins each GPU with each, and its NUMA node. "" below one GPU.
std::string link_matrix_text(const Host& host);

// The verdict, the findings and all facts: schema "tandem.doctor/1", whose ids docs/troubleshooting.md lists.
std::string doctor_json(const Patient& patient, const Findings& findings);

}  // namespace tandem
