/*
 * The arithmetic of a multi-layer perceptron: matrix product in all four transpositions, bias,
 * ReLU, mean square loss, momentum SGD. Row-major floats. Every sum runs in a fixed order (no
 * atomics), so that two runs give equal bits.
 */
#ifndef MLP_KERNELS_CUH
#define MLP_KERNELS_CUH

#include <cuda_runtime.h>

constexpr int tile = 16;	 /* edge of a matrix tile, threads a side */
constexpr int sum_threads = 256; /* a power of two */

/*
 * out[rows][columns] = op(a) * op(b) over `depth`; op transposes if selected. Grid: (columns, rows)
 * in tiles.
 */
template <bool transpose_a, bool transpose_b>
__global__ void multiply(const float *__restrict__ a, const float *__restrict__ b,
			 float *__restrict__ out, int rows, int columns, int depth)
{
	__shared__ float tile_a[tile][tile + 1], tile_b[tile][tile + 1];
	const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
	const int row = static_cast<int>(blockIdx.y) * tile + y,
		  column = static_cast<int>(blockIdx.x) * tile + x;
	float sum = 0;
	for (int from = 0; from < depth; from += tile) {
		const int k_a = from + x, k_b = from + y;
		const bool has_a = row < rows && k_a < depth,
			   has_b = column < columns && k_b < depth;
		tile_a[y][x] = has_a ? a[transpose_a ? k_a * rows + row : row * depth + k_a] : 0;
		tile_b[y][x] =
			has_b ? b[transpose_b ? column * depth + k_b : k_b * columns + column] : 0;
		__syncthreads();
		for (int k = 0; k < tile; k++)
			sum += tile_a[y][k] * tile_b[k][x];
		__syncthreads();
	}
	if (row < rows && column < columns)
		out[row * columns + column] = sum;
}

/* values[i] += bias[column], then max(0, x) with has_relu. One thread a value. */
static __global__ void add_bias(float *values, const float *bias, int rows, int columns,
				bool has_relu)
{
	const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
	if (i >= rows * columns)
		return;
	const float value = values[i] + bias[i % columns];
	values[i] = has_relu ? fmaxf(value, 0) : value;
}

/* gradient = 0 where ReLU cut the activation to 0. */
static __global__ void relu_backward(float *gradient, const float *activation, int number)
{
	const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
	if (i < number && activation[i] <= 0)
		gradient[i] = 0;
}

/* out[column] = sum over rows. One thread a column. */
static __global__ void sum_rows(const float *values, float *out, int rows, int columns)
{
	const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
	if (column >= columns)
		return;
	float sum = 0;
	for (int row = 0; row < rows; row++)
		sum += values[row * columns + column];
	out[column] = sum;
}

/*
 * The sum of `value` over the block's sum_threads threads, in the same order each time; valid in
 * thread 0.
 */
static __device__ float sum_block(float value)
{
	__shared__ float parts[sum_threads];
	parts[threadIdx.x] = value;
	__syncthreads();
	for (unsigned half = sum_threads / 2; half; half /= 2) {
		if (threadIdx.x < half)
			parts[threadIdx.x] += parts[threadIdx.x + half];
		__syncthreads();
	}
	return parts[0];
}

/* gradient of mean((output - target)^2), and each block's part of the sum of squares. */
static __global__ void mean_square(const float *output, const float *target, float *gradient,
				   float *parts, int number)
{
	const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
	const float difference = i < number ? output[i] - target[i] : 0;
	if (i < number)
		gradient[i] = 2 * difference / static_cast<float>(number);
	const float sum = sum_block(difference * difference);
	if (threadIdx.x == 0)
		parts[blockIdx.x] = sum;
}

/* loss = sum of parts / number. One block. */
static __global__ void finish_loss(const float *parts, int blocks, int number, float *loss)
{
	float sum = 0;
	for (int i = static_cast<int>(threadIdx.x); i < blocks; i += sum_threads)
		sum += parts[i];
	sum = sum_block(sum);
	if (threadIdx.x == 0)
		*loss = sum / static_cast<float>(number);
}

static __global__ void sgd(float *weight, float *momentum, const float *gradient, float rate,
			   int number)
{
	const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
	if (i >= number)
		return;
	momentum[i] = 0.9f * momentum[i] + gradient[i];
	weight[i] -= rate * momentum[i];
}

/* mine = (mine + other) / 2: averages a gradient of two devices. */
static __global__ void average(float *mine, const float *other, int number)
{
	const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
	if (i < number)
		mine[i] = (mine[i] + other[i]) / 2;
}

/* Counts how many targets fall into each of 16 bins of [-2, 2). One thread a bin. */
static __global__ void histogram(const float *values, int number, unsigned *bins)
{
	unsigned count = 0;
	for (int i = 0; i < number; i++) {
		const int bin = static_cast<int>(floorf((values[i] + 2) * 4));
		count += min(max(bin, 0), 15) == static_cast<int>(threadIdx.x);
	}
	bins[threadIdx.x] += count;
}

#endif
