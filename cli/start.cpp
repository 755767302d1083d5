// The program's entry: sets how OpenMP threads wait, then becomes the program itself, which lies beside it.
//
// libgomp reads its environment when it is loaded, before main. By default its threads spin for milliseconds at the end
// of every parallel loop. If other programs keep the cores busy, they spin while the thread they wait for has no core,
// which made runs ninety times slower. A thousand turns, some ten microseconds, bridge the gaps between loops.
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int, char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) setenv("GOMP_SPINCOUNT", "1000", /*overwrite=*/0);
  char path[PATH_MAX + 16] = {};
  const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
  if (length > 0) {
    std::strcpy(path + length, "-main");
    execv(path, argv);
  }
  std::fprintf(stderr, "tributary: cannot start %s; build the program again\n", length > 0 ? path : "itself");
  return 1;
}
