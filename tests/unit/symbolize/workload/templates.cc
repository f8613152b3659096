// Templates, lambdas, namespaces, classes: what C++ names are made of.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

volatile unsigned long sink;

namespace shapes
{
namespace
{
[[gnu::always_inline]] inline double scale(double x, double factor)
{
	sink = sink + 1;
	return x * factor + static_cast<double>(sink);
}

[[gnu::noinline]] double hidden(double x)
{
	return scale(x, 3) - scale(x, 2);
}
} // namespace

struct shape {
	virtual ~shape() = default;
	virtual double area() const = 0;
};

template <typename T, int N> class polygon : public shape
{
      public:
	explicit polygon(T side) : side_(side)
	{
		for (auto &corner : corners_)
			corner = side * 2;
	}
	double area() const override
	{
		double sum = 0;

		for (T corner : corners_)
			sum += scale(static_cast<double>(corner), N);
		return sum * static_cast<double>(side_) + hidden(sum);
	}

      private:
	T side_;
	T corners_[N];
};

template <typename F> [[gnu::noinline]] unsigned long repeat(unsigned n, F &&function)
{
	unsigned long sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += function(i);
	return sum;
}
} // namespace shapes

struct key {
	std::string name;
	bool operator<(const key &other) const
	{
		return name < other.name;
	}
};

[[gnu::noinline]] int count_keys(const std::vector<std::string> &names)
{
	std::map<key, int> counts;

	for (const auto &name : names)
		counts[key{name}]++;
	return std::accumulate(counts.begin(), counts.end(), 0,
			       [](int sum, const auto &item) { return sum + item.second; });
}

int main(int argc, char **argv)
{
	std::vector<std::unique_ptr<shapes::shape>> all;
	std::vector<std::string> names(argv, argv + argc);

	all.push_back(std::make_unique<shapes::polygon<int, 3>>(argc));
	all.push_back(std::make_unique<shapes::polygon<double, 4>>(argc));
	std::sort(all.begin(), all.end(),
		  [](const auto &a, const auto &b) { return a->area() < b->area(); });
	sink = sink + shapes::repeat(10, [&](unsigned i) { return sink + i + names.size(); });
	std::printf("%f %d\n", all[0]->area(), count_keys(names));
	return 0;
}
