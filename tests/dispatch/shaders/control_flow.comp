#version 460
// Divergent loops, switches that fall through, early returns, nested functions, phi by conditional expressions.
layout(local_size_x = 32) in;
layout(std430, set = 0, binding = 0) readonly buffer In { uint data[]; } source;
layout(std430, set = 0, binding = 1) writeonly buffer Out { uint data[]; } target;
layout(constant_id = 0) const uint ROUNDS = 3;

uint collatz(uint n) {
    uint steps = 0;
    while (n != 1) {
        n = (n & 1) == 0 ? n / 2 : 3 * n + 1;
        if (++steps == 50)
            return 1000;
    }
    return steps;
}

uint classify(uint n) {
    uint r = 0;
    switch (n % 7) {
    case 0:
        r += 1;
    case 1:
        r += 10;
        break;
    case 2:
    case 5:
        return 500 + n;
    case 3:
        if (n > 40)
            break;
        r += 100;
    default:
        r += 1000;
    }
    return r;
}

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint n = source.data[i];
    uint sum = 0;
    for (uint round = 0; round < ROUNDS; ++round) {
        if (n == 0) {
            target.data[i] = 0xffffffffu;
            return;
        }
        if ((n + round) % 5 == 0)
            continue;
        sum = sum * 31 + collatz(n + round) + classify(n + round);
        for (uint k = 0; k < n % 4; ++k) {
            for (uint turn = 0;; ++turn) {
                sum ^= k + 1;
                if (sum % 3 != 1 || turn == 9)
                    break;
                sum += 7;
            }
        }
        do {
            ++sum;
        } while (sum % 8 != 0 && round != 1);
    }
    target.data[i] = sum;
}
