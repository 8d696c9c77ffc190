// The part of libtorch_cpu.so that torch_ranges.c uses: callbacks for ranges, by value and with the real class's layout and
// names; and autograd's engine, which works on a thread of its own. Victims reach it through one table,
// dlsym("fake_ranges") in libtorch_cpu_ranges.so.
#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "fake_ranges.h"

#define VISIBLE __attribute__((visibility("default")))

namespace at
{
struct Tensor {
};
struct ObserverContext {
	virtual ~ObserverContext() = default;
};
struct VISIBLE RecordFunction {
	std::string text;
	VISIBLE const char *name() const;
};
const char *RecordFunction::name() const
{
	return text.c_str();
}

class RecordFunctionCallback
{
      public:
	using StartCallback = std::unique_ptr<ObserverContext> (*)(const RecordFunction &);
	using EndCallback = void (*)(const RecordFunction &, ObserverContext *);
	explicit RecordFunctionCallback(StartCallback s, EndCallback e) : start(s), end(e) {}
	StartCallback start;
	EndCallback end;
	double probability = 1.0;
	std::array<bool, 10> scopes = {};
	bool needs_inputs = false, needs_outputs = false, needs_ids = false;
};

std::mutex lock;
std::vector<RecordFunctionCallback> callbacks;

VISIBLE uint64_t addGlobalCallback(RecordFunctionCallback callback);
uint64_t addGlobalCallback(RecordFunctionCallback callback)
{
	const std::array<bool, 10> user = { false, false, false, false, false, false, false, true, false, false };
	if (callback.scopes != user || callback.needs_inputs || callback.needs_outputs || callback.needs_ids ||
	    callback.probability != 1.0)
		std::abort();
	std::lock_guard<std::mutex> guard(lock);
	callbacks.push_back(callback);
	return callbacks.size();
}
} // namespace at

namespace torch
{
namespace autograd
{
struct Edge {
	void (*work)(void *);
	void *argument;
	bool is_here;
};
struct VISIBLE Engine {
	virtual ~Engine() = default;
	virtual std::vector<at::Tensor> execute(const std::vector<Edge> &roots, const std::vector<at::Tensor> &inputs,
						bool keep_graph, bool create_graph, bool accumulate_grad,
						const std::vector<Edge> &outputs);
};

std::vector<at::Tensor> Engine::execute(const std::vector<Edge> &roots, const std::vector<at::Tensor> &inputs,
					bool keep_graph, bool create_graph, bool accumulate_grad,
					const std::vector<Edge> &outputs)
{
	if (!keep_graph || create_graph || !accumulate_grad || outputs.size() != 3)
		std::abort();
	for (const Edge &root : roots)
		if (root.is_here)
			root.work(root.argument);
		else
			std::thread(root.work, root.argument).join();
	if (roots.empty())
		throw std::runtime_error("nothing to differentiate");
	return std::vector<at::Tensor>(inputs.size() + 1);
}

/* as in Python's engine: its own override calls the exported function */
struct PythonEngine : Engine {
	std::vector<at::Tensor> execute(const std::vector<Edge> &roots, const std::vector<at::Tensor> &inputs,
					bool keep_graph, bool create_graph, bool accumulate_grad,
					const std::vector<Edge> &outputs) override
	{
		return Engine::execute(roots, inputs, keep_graph, create_graph, accumulate_grad, outputs);
	}
};
} // namespace autograd
} // namespace torch

namespace
{
struct open_range {
	at::RecordFunction function;
	std::vector<std::pair<at::RecordFunctionCallback, std::unique_ptr<at::ObserverContext>>> started;
};

void *begin(const char *name)
{
	std::vector<at::RecordFunctionCallback> now;
	{
		std::lock_guard<std::mutex> guard(at::lock);
		now = at::callbacks;
	}
	auto *range = new open_range{ { name }, {} };
	for (const at::RecordFunctionCallback &c : now)
		range->started.emplace_back(c, c.start(range->function));
	return range;
}

void end(void *opaque)
{
	auto *range = static_cast<open_range *>(opaque);
	for (auto &s : range->started)
		s.first.end(range->function, s.second.get());
	delete range;
}

int call_engine(const std::vector<torch::autograd::Edge> &roots)
{
	torch::autograd::PythonEngine engine;
	try {
		return (int)engine.execute(roots, std::vector<at::Tensor>(4), true, false, true,
					   std::vector<torch::autograd::Edge>(3))
			.size();
	} catch (const std::runtime_error &error) {
		return -(int)std::strlen(error.what());
	}
}

int backward(void (*work)(void *), void *argument)
{
	std::vector<torch::autograd::Edge> roots;
	if (work)
		roots.push_back({ work, argument, false });
	return call_engine(roots);
}

int backward_here(void (*work)(void *), void *argument)
{
	return call_engine({ { work, argument, true } });
}

unsigned long added()
{
	std::lock_guard<std::mutex> guard(at::lock);
	return at::callbacks.size();
}
} // namespace

extern "C" VISIBLE const struct fake_ranges fake_ranges;
const struct fake_ranges fake_ranges = { begin, end, backward, backward_here, added };
