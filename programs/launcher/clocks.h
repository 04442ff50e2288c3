// How fast the processors run at this moment, as far as the system tells.
#pragma once

#include <map>
#include <string>

namespace tandem {

// MHz by device: "processor" (the mean of its cores, from /sys/devices/system/cpu or /proc/cpuinfo) and
// "GPU 0", … (the driver's). Empty where nothing is known, as in many virtual machines.
std::map<std::string, double> clocks_mhz();

// The same from the text of /proc/cpuinfo: the mean of its "cpu MHz" lines; 0 if there is none.
double mean_cpuinfo_mhz(const std::string& cpuinfo);

}  // namespace tandem
