/*
 * A small training job: a four-layer perceptron learns a fixed function with momentum SGD. An
 * ordinary CUDA program without support for any tool; for the demo, tests and bench. Prints the
 * loss, equal in every run and mode, and one line `truth {...}` with its requests to CUDA, for
 * comparison with a recording.
 */
#include "mlp_kernels.cuh"
#include "segment_allocator.cuh"

#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

namespace
{

constexpr int layers = 4, batch = 1024;
constexpr int width[layers + 1] = { 64, 512, 512, 256, 8 };
constexpr float rate = 0.02f;
constexpr int bins = 16;
constexpr int devices_most = 2;

struct options {
	int steps = 50, gpus = 1;
	bool has_graph = false, has_async = false;
};

struct totals {
	requested device[devices_most];
	requested host;
	unsigned long long launches, graph_launches;
} totals;

unsigned blocks_of(int number)
{
	return static_cast<unsigned>((number + sum_threads - 1) / sum_threads);
}

#define LAUNCH(kernel, grid, block, stream, ...)                         \
	do {                                                             \
		(kernel)<<<(grid), (block), 0, (stream)>>>(__VA_ARGS__); \
		must(cudaGetLastError());                                \
		totals.launches++;                                       \
	} while (0)

template <bool transpose_a, bool transpose_b>
void multiply_on(cudaStream_t stream, const float *a, const float *b, float *out, int rows,
		 int columns, int depth)
{
	const dim3 grid(static_cast<unsigned>((columns + tile - 1) / tile),
			static_cast<unsigned>((rows + tile - 1) / tile));
	LAUNCH((multiply<transpose_a, transpose_b>), grid, dim3(tile, tile), stream, a, b, out,
	       rows, columns, depth);
}

/* The same numbers in every run, on every machine. */
class numbers
{
public:
	explicit numbers(unsigned seed) : state_(seed)
	{
	}
	/* In [-1, 1). */
	float next()
	{
		state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
		return static_cast<float>(static_cast<int>(state_ >> 40) - (1 << 23)) /
		       static_cast<float>(1 << 23);
	}

private:
	unsigned long long state_;
};

/* One device's share of the job. All methods are called with its device current. */
class trainer
{
public:
	trainer(int device, bool has_async)
	    : device_(device), has_async_(has_async), requested_(totals.device[device]),
	      allocator_(requested_), samples_(static_cast<unsigned>(device) + 100)
	{
		must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
		must(cudaMallocHost(&pinned_, pinned_bytes));
		totals.host.add(pinned_bytes);
		input_ = take(batch * width[0]);
		target_ = take(batch * width[layers]);
		loss_ = take(1);
		numbers start(1); /* every device starts from the same weights */
		for (int l = 0; l < layers; l++) {
			weight_[l] = parameter(width[l] * width[l + 1], start,
					       std::sqrt(3.0f / static_cast<float>(width[l])));
			bias_[l] = parameter(width[l + 1], start, 0);
		}
	}

	~trainer()
	{
		for (auto &p : parameters_)
			for (float *values : { p.value, p.momentum, p.gradient })
				allocator_.give(values);
		for (float *values : { input_, target_, loss_ })
			allocator_.give(values);
		allocator_.trim();
		must(cudaFreeHost(pinned_));
		totals.host.drop(pinned_bytes);
		must(cudaStreamDestroy(stream_));
	}

	/* Fills the pinned batch of `step`; the copy to the device is part of the step. */
	void fill(int step)
	{
		float *target = pinned_ + batch * width[0];
		for (int i = 0; i < batch * width[0]; i++)
			pinned_[i] = samples_.next();
		for (int row = 0; row < batch; row++)
			for (int o = 0; o < width[layers]; o++) {
				const float *x = pinned_ + row * width[0];
				target[row * width[layers] + o] =
					std::sin(3 * x[o]) * x[o + 8] +
					0.5f * std::fabs(x[o + 16]) +
					0.01f * static_cast<float>(step % 3);
			}
	}

	/* Forward and backward: gradients are ready in stream order. */
	void gradients()
	{
		must(cudaMemcpyAsync(input_, pinned_, batch * width[0] * sizeof(float),
				     cudaMemcpyHostToDevice, stream_));
		must(cudaMemcpyAsync(target_, pinned_ + batch * width[0],
				     batch * width[layers] * sizeof(float), cudaMemcpyHostToDevice,
				     stream_));
		float *activation[layers + 1] = { input_ };
		forward(activation);
		float *slope = loss_slope(activation[layers]);
		for (int l = layers - 1; l >= 0; l--) {
			float *below = backward(l, activation, slope);
			temporary_give(slope);
			temporary_give(activation[l + 1]);
			slope = below;
		}
	}

	void update()
	{
		for (const auto &p : parameters_)
			LAUNCH(sgd, blocks_of(p.number), sum_threads, stream_, p.value, p.momentum,
			       p.gradient, rate, p.number);
	}

	/* Averages both trainers' gradients; afterwards they are equal and complete. */
	void agree(trainer &other)
	{
		must(cudaStreamSynchronize(other.stream_));
		for (size_t i = 0; i < parameters_.size(); i++) {
			const auto &p = parameters_[i];
			const size_t bytes = static_cast<size_t>(p.number) * sizeof(float);
			float *theirs = temporary_take(p.number);
			must(cudaMemcpyPeerAsync(theirs, device_, other.parameters_[i].gradient,
						 other.device_, bytes, stream_));
			LAUNCH(average, blocks_of(p.number), sum_threads, stream_, p.gradient,
			       theirs, p.number);
			must(cudaMemcpyPeerAsync(other.parameters_[i].gradient, other.device_,
						 p.gradient, device_, bytes, stream_));
			temporary_give(theirs);
		}
		must(cudaStreamSynchronize(stream_));
	}

	float loss()
	{
		float value;
		must(cudaMemcpyAsync(&value, loss_, sizeof value, cudaMemcpyDeviceToHost, stream_));
		must(cudaStreamSynchronize(stream_));
		return value;
	}

	/*
	 * Prints a histogram of the last batch's targets: uses managed memory and a stream-ordered
	 * copy.
	 */
	void print_histogram()
	{
		unsigned *count;
		float *copy;
		const size_t bytes = batch * width[layers] * sizeof(float);
		must(cudaMallocManaged(&count, bins * sizeof *count));
		requested_.add(bins * sizeof *count);
		must(cudaMallocAsync(&copy, bytes, stream_));
		requested_.add(bytes);
		must(cudaMemsetAsync(count, 0, bins * sizeof *count, stream_));
		must(cudaMemcpyAsync(copy, target_, bytes, cudaMemcpyDeviceToDevice, stream_));
		LAUNCH(histogram, 1, bins, stream_, copy, batch * width[layers], count);
		must(cudaFreeAsync(copy, stream_));
		requested_.drop(bytes);
		must(cudaStreamSynchronize(stream_));
		printf("targets");
		for (int i = 0; i < bins; i++)
			printf(" %u", count[i]);
		printf("\n");
		must(cudaFree(count));
		requested_.drop(bins * sizeof *count);
	}

	/* Gives unused segments back, as a job does between its phases. */
	void trim()
	{
		allocator_.trim();
	}
	/*
	 * During a capture nothing may be allocated, and the memory of a captured graph must stay.
	 * From the first freeze() to thaw() temporaries stay taken. Each further freeze() hands out
	 * the same ones again, in the same order.
	 */
	void freeze()
	{
		is_frozen_ = true;
		handed_out_ = 0;
	}
	void thaw()
	{
		is_frozen_ = false;
		for (float *values : frozen_)
			allocator_.give(values);
		frozen_.clear();
	}
	cudaStream_t stream() const
	{
		return stream_;
	}
	size_t taken_peak_bytes() const
	{
		return allocator_.taken_peak_bytes();
	}

private:
	struct parameter_values {
		float *value, *momentum, *gradient;
		int number;
	};
	static constexpr size_t pinned_bytes = batch * (width[0] + width[layers]) * sizeof(float);

	float *take(int number)
	{
		return reinterpret_cast<float *>(
			allocator_.take(static_cast<size_t>(number) * sizeof(float)));
	}

	float *temporary_take(int number)
	{
		if (is_frozen_) {
			if (handed_out_ == frozen_.size())
				frozen_.push_back(take(number));
			return frozen_[handed_out_++];
		}
		if (!has_async_)
			return take(number);
		float *values;
		const size_t bytes = static_cast<size_t>(number) * sizeof(float);
		must(cudaMallocAsync(&values, bytes, stream_));
		requested_.add(bytes);
		pooled_[values] = bytes;
		return values;
	}

	void temporary_give(float *values)
	{
		auto pooled = pooled_.find(values);
		if (is_frozen_)
			return;
		if (pooled != pooled_.end()) {
			must(cudaFreeAsync(values, stream_));
			requested_.drop(pooled->second);
			pooled_.erase(pooled);
		} else {
			allocator_.give(values);
		}
	}

	/* Random values in [-scale, scale), with momentum 0. */
	size_t parameter(int number, numbers &source, float scale)
	{
		const size_t bytes = static_cast<size_t>(number) * sizeof(float);
		std::vector<float> values(static_cast<size_t>(number));
		for (float &value : values)
			value = scale * source.next();
		parameter_values p = { take(number), take(number), take(number), number };
		must(cudaMemcpyAsync(p.value, values.data(), bytes, cudaMemcpyHostToDevice,
				     stream_));
		must(cudaMemsetAsync(p.momentum, 0, bytes, stream_));
		must(cudaStreamSynchronize(stream_));
		parameters_.push_back(p);
		return parameters_.size() - 1;
	}

	void forward(float *activation[])
	{
		for (int l = 0; l < layers; l++) {
			const int number = batch * width[l + 1];
			activation[l + 1] = temporary_take(number);
			multiply_on<false, false>(stream_, activation[l],
						  parameters_[weight_[l]].value, activation[l + 1],
						  batch, width[l + 1], width[l]);
			LAUNCH(add_bias, blocks_of(number), sum_threads, stream_, activation[l + 1],
			       parameters_[bias_[l]].value, batch, width[l + 1], l < layers - 1);
		}
	}

	float *loss_slope(const float *output)
	{
		const int number = batch * width[layers];
		float *slope = temporary_take(number),
		      *parts = temporary_take(static_cast<int>(blocks_of(number)));
		LAUNCH(mean_square, blocks_of(number), sum_threads, stream_, output, target_, slope,
		       parts, number);
		LAUNCH(finish_loss, 1, sum_threads, stream_, parts,
		       static_cast<int>(blocks_of(number)), number, loss_);
		temporary_give(parts);
		return slope;
	}

	/*
	 * Gradients of layer l's parameters; returns the slope below it, which is unused for the
	 * lowest layer.
	 */
	float *backward(int l, float *const activation[], const float *slope)
	{
		multiply_on<true, false>(stream_, activation[l], slope,
					 parameters_[weight_[l]].gradient, width[l], width[l + 1],
					 batch);
		LAUNCH(sum_rows, blocks_of(width[l + 1]), sum_threads, stream_, slope,
		       parameters_[bias_[l]].gradient, batch, width[l + 1]);
		if (l == 0)
			return nullptr;
		const int number = batch * width[l];
		float *below = temporary_take(number);
		multiply_on<false, true>(stream_, slope, parameters_[weight_[l]].value, below,
					 batch, width[l], width[l + 1]);
		LAUNCH(relu_backward, blocks_of(number), sum_threads, stream_, below, activation[l],
		       number);
		return below;
	}

	const int device_;
	const bool has_async_;
	requested &requested_;
	segment_allocator allocator_;
	cudaStream_t stream_ = nullptr;
	float *pinned_ = nullptr, *input_ = nullptr, *target_ = nullptr, *loss_ = nullptr;
	size_t weight_[layers], bias_[layers];
	std::vector<parameter_values> parameters_;
	std::map<float *, size_t> pooled_;
	std::vector<float *> frozen_;
	size_t handed_out_ = 0;
	numbers samples_;
	bool is_frozen_ = false;
};

void report(int step, float loss)
{
	if (step % 10 == 0)
		printf("step %d loss %.6f\n", step, static_cast<double>(loss));
}

void train_eager(std::vector<std::unique_ptr<trainer>> &trainers, int from, int to)
{
	for (int step = from; step < to; step++) {
		for (size_t d = 0; d < trainers.size(); d++) {
			must(cudaSetDevice(static_cast<int>(d)));
			trainers[d]->fill(step);
			trainers[d]->gradients();
		}
		if (trainers.size() == 2) {
			must(cudaSetDevice(0));
			trainers[0]->agree(*trainers[1]);
		}
		for (size_t d = 0; d < trainers.size(); d++) {
			must(cudaSetDevice(static_cast<int>(d)));
			trainers[d]->update();
			const float loss = trainers[d]->loss();
			if (step % 16 == 15)
				trainers[d]->trim();
			if (d == 0)
				report(step, loss);
		}
	}
}

/*
 * A few steps as usual, so that the sub-allocator holds the memory of a step, then one capture,
 * then replays.
 */
void train_graph(trainer &trainer, int from, int to)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	trainer.freeze();
	trainer.fill(from);
	/* takes the blocks: during the capture cudaMalloc would be an error */
	trainer.gradients();
	trainer.update();
	report(from, trainer.loss());
	trainer.freeze();
	must(cudaStreamBeginCapture(trainer.stream(), cudaStreamCaptureModeThreadLocal));
	trainer.gradients();
	trainer.update();
	must(cudaStreamEndCapture(trainer.stream(), &graph));
	must(cudaGraphInstantiate(&exec, graph, 0));
	for (int step = from + 1; step < to; step++) {
		trainer.fill(step);
		must(cudaGraphLaunch(exec, trainer.stream()));
		totals.graph_launches++;
		report(step, trainer.loss());
	}
	must(cudaGraphExecDestroy(exec));
	must(cudaGraphDestroy(graph));
	trainer.thaw();
}

int usage()
{
	fputs("usage: mlp_train [--steps N] [--gpus 1|2] [--graph] [--async]\n", stderr);
	return 2;
}

bool parse(int argc, char **argv, options &options)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--graph"))
			options.has_graph = true;
		else if (!strcmp(argv[i], "--async"))
			options.has_async = true;
		else if (!strcmp(argv[i], "--steps") && i + 1 < argc)
			options.steps = atoi(argv[++i]);
		else if (!strcmp(argv[i], "--gpus") && i + 1 < argc)
			options.gpus = atoi(argv[++i]);
		else
			return false;
	}
	return options.steps > 0 && options.gpus >= 1 && options.gpus <= devices_most &&
	       !(options.has_graph && options.gpus > 1);
}

void print_truth(const std::vector<size_t> &taken_peaks)
{
	unsigned long long allocations = totals.host.allocations, frees = totals.host.frees;
	for (const auto &d : totals.device) {
		allocations += d.allocations;
		frees += d.frees;
	}
	printf("truth "
	       "{\"launches\":%llu,\"graph_launches\":%llu,\"allocations\":%llu,\"frees\":%llu,"
	       "\"host_peak_bytes\":%llu,"
	       "\"devices\":[",
	       totals.launches, totals.graph_launches, allocations, frees, totals.host.peak_bytes);
	for (size_t d = 0; d < taken_peaks.size(); d++)
		printf("%s{\"device\":%zu,\"driver_peak_bytes\":%llu,\"blocks_peak_bytes\":%zu}",
		       d ? "," : "", d, totals.device[d].peak_bytes, taken_peaks[d]);
	printf("]}\n");
}

} // namespace

int main(int argc, char **argv)
{
	options options;
	int found = 0;
	if (!parse(argc, argv, options))
		return usage();
	if (cudaGetDeviceCount(&found) != cudaSuccess || found < options.gpus) {
		fprintf(stderr, "mlp_train: needs %d CUDA device(s), found %d\n", options.gpus,
			found);
		return 77;
	}
	std::vector<std::unique_ptr<trainer>> trainers;
	for (int d = 0; d < options.gpus; d++) {
		must(cudaSetDevice(d));
		trainers.push_back(std::make_unique<trainer>(d, options.has_async));
	}
	if (options.has_graph) {
		const int eager = std::min(3, options.steps - 1);
		train_eager(trainers, 0, eager);
		train_graph(*trainers[0], eager, options.steps);
	} else {
		train_eager(trainers, 0, options.steps);
	}
	must(cudaSetDevice(0));
	trainers[0]->print_histogram();
	printf("final loss %.6f after %d steps\n", static_cast<double>(trainers[0]->loss()),
	       options.steps);
	std::vector<size_t> taken_peaks;
	for (size_t d = 0; d < trainers.size(); d++) {
		must(cudaSetDevice(static_cast<int>(d)));
		taken_peaks.push_back(trainers[d]->taken_peak_bytes());
		trainers[d].reset();
	}
	print_truth(taken_peaks);
	return 0;
}
