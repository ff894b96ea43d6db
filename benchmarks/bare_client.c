// What the kernel alone takes for a streamed token: epoll_wait and recv, and nothing else.
//     cc -O2 -o bare_client bare_client.c && ./bare_client PORT STREAMS SECONDS
// Each stream asks once for an answer that does not end. Prints JSON: CPU in ms for 1,000 pieces after the first second.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

enum { MOST_EVENTS = 2048, WARM_S = 1 };
static const char BODY[] = "{\"model\":\"any\",\"stream\":true,\"max_tokens\":100000,"
                           "\"messages\":[{\"role\":\"user\",\"content\":\"a b c\"}]}";

static double wall_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static double cpu_s(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

static int asked(int port) {
    char message[512];
    struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons(port)};
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int size = snprintf(message, sizeof message,
                        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
                        "content-length: %zu\r\n\r\n%s", strlen(BODY), BODY);
    int made = socket(AF_INET, SOCK_STREAM, 0);
    if (made < 0 || connect(made, (struct sockaddr *)&there, sizeof there) || send(made, message, size, 0) != size) {
        perror("stream");
        exit(1);
    }
    fcntl(made, F_SETFL, O_NONBLOCK);
    return made;
}

int main(int count, char **given) {
    if (count != 4) return fprintf(stderr, "PORT STREAMS SECONDS\n"), 2;
    int streams = atoi(given[2]), poller = epoll_create1(0);
    for (int each = 0; each < streams; each++) {
        int made = asked(atoi(given[1]));
        struct epoll_event event = {.events = EPOLLIN, .data.fd = made};
        epoll_ctl(poller, EPOLL_CTL_ADD, made, &event);
    }
    static struct epoll_event events[MOST_EVENTS];
    static char piece[65536];
    long pieces = 0;
    double begun_s = wall_s(), spent_s = 0;
    while (wall_s() < begun_s + WARM_S + atof(given[3])) {
        if (!spent_s && wall_s() > begun_s + WARM_S) spent_s = cpu_s(), pieces = 0;
        int ready = epoll_wait(poller, events, MOST_EVENTS, 100);
        for (int each = 0; each < ready; each++)
            pieces += recv(events[each].data.fd, piece, sizeof piece, 0) > 0;
    }
    printf("{\"cpu_ms_per_1000_tokens\": %.3f}\n", (cpu_s() - spent_s) * 1e6 / pieces);
}
