// The program's entry: sets how OpenMP threads wait, then becomes the program itself, which lies beside it.
//
// libgomp reads its environment when it is loaded, before main. By default its threads spin for milliseconds at the end
// of every parallel loop. If other programs keep the cores busy, they spin while the thread they wait for has no core,
// which made runs ninety times slower. A thousand turns, some ten microseconds, bridge the gaps between loops.
//
// Little address space is found here, because the libraries of the program fail or hang while they are loaded.
#include <sys/resource.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int, char** argv) {
  constexpr rlim_t kAddressSpace = rlim_t{2} << 30;
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur < kAddressSpace) {
    std::fprintf(stderr, "tributary: only %llu MiB of address space are allowed; allow at least %llu (ulimit -v)\n",
                 static_cast<unsigned long long>(space.rlim_cur >> 20),
                 static_cast<unsigned long long>(kAddressSpace >> 20));
    return 2;
  }
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) setenv("GOMP_SPINCOUNT", "1000", /*overwrite=*/0);
  char path[PATH_MAX + 16] = {};
  const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
  if (length > 0) {
    std::memcpy(path + length, "-main", sizeof "-main");
    execv(path, argv);
  }
  std::fprintf(stderr, "tributary: cannot start %s; build the program again\n", length > 0 ? path : "itself");
  return 1;
}
