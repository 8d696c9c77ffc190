// The part of libtorch_cpu.so that torch_ranges.c uses: callbacks for ranges, by value and with the real class's layout and
// names; and autograd's engine, which works on a thread of its own. Victims reach it through one table,
// dlsym("fake_ranges") in libtorch_cpu_ranges.so.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
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
/* The real class's sizes and order, so that its numbers have their places. */
struct VISIBLE RecordFunction {
	virtual ~RecordFunction() = default;
	char callbacks[80] = {};
	uint64_t thread;
	uint8_t scope;
	bool needs[3] = {};
	alignas(8) bool is_started = true;
	alignas(8) char contexts[48] = {};
	std::string text;
	size_t kind_of_text = 0;
	int64_t sequence;
	const void *inputs[2] = {};
	std::unordered_map<std::string, int> keyword_inputs;
	std::vector<int> outputs;
	uint64_t forward_thread;
	RecordFunction(uint8_t s, const char *n, int64_t q, uint64_t f)
		: thread(number_of_thread()), scope(s), text(n), sequence(q), forward_thread(f)
	{
	}
	static uint64_t number_of_thread()
	{
		static std::atomic<uint64_t> last;
		thread_local uint64_t own = ++last;
		return own;
	}
	VISIBLE const char *name() const;
};
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
static_assert(offsetof(RecordFunction, thread) == 88 && offsetof(RecordFunction, sequence) == 200 &&
	      offsetof(RecordFunction, forward_thread) == 304, "the real class has these places");
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
	const bool is_known = callback.scopes[0] || callback.scopes[1] || callback.scopes[7];
	if (std::count(callback.scopes.begin(), callback.scopes.end(), true) != 1 || !is_known || callback.needs_inputs || callback.needs_outputs || callback.needs_ids ||
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
	open_range(uint8_t scope, const char *name, int64_t sequence = -1, uint64_t forward_thread = 0)
		: function(scope, name, sequence, forward_thread)
	{
		std::vector<at::RecordFunctionCallback> now;
		{
			std::lock_guard<std::mutex> guard(at::lock);
			now = at::callbacks;
		}
		for (const at::RecordFunctionCallback &c : now)
			if (c.scopes[scope])
				started.emplace_back(c, c.start(function));
	}
	~open_range()
	{
		for (auto &s : started)
			if (s.first.end)
				s.first.end(function, s.second.get());
	}
};

void *begin(const char *name)
{
	return new open_range(7, name);
}

void end(void *opaque)
{
	delete static_cast<open_range *>(opaque);
}

thread_local int64_t next_sequence;

uint64_t operate(int makes, void (*work)(void *), void *argument)
{
	open_range range(0, "aten::op", makes == FAKE_NO_GRAD ? -1 : next_sequence);
	const int64_t own = next_sequence;
	next_sequence += makes == FAKE_MAKES_NODE;
	work(argument);
	return (uint64_t)own;
}

void run_nodes_here(const struct fake_node *nodes, size_t count)
{
	for (size_t k = 0; k < count; k++) {
		open_range range(1, "OpBackward0", (int64_t)nodes[k].sequence, nodes[k].thread);
		nodes[k].work(nodes[k].argument);
	}
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

struct nodes {
	const struct fake_node *node;
	size_t count;
};

void run_all(void *opaque)
{
	const auto *all = static_cast<const nodes *>(opaque);
	run_nodes_here(all->node, all->count);
}

void run_nodes(const struct fake_node *node, size_t count)
{
	nodes all = { node, count };
	backward(run_all, &all);
}

unsigned long added()
{
	std::lock_guard<std::mutex> guard(at::lock);
	return at::callbacks.size();
}
} // namespace

extern "C" VISIBLE const struct fake_ranges fake_ranges;
const struct fake_ranges fake_ranges = {
	begin,	   end,	     backward,	     backward_here, added, operate, at::RecordFunction::number_of_thread,
	run_nodes, run_nodes_here,
};
