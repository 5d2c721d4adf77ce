// Tensor-core instructions are outside the simulator.
// expect: unsupported, line 9
// launch: grid 1, block 32
// args: y float[32] zero
// gpu: fine

extern "C" __global__ void kernel(float* y) {
    float d[4];
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, "
        "{%5,%5,%5,%5};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(0), "f"(0.0f));
    y[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}
