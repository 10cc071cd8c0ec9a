package designer

import (
	"math"

	"cairn/internal/domain/memoryskill/keyedrand"
)

// Constants of the clustering.
const (
	restarts = 10
	sweeps   = 100 // of Lloyd's algorithm, which converges earlier
)

// Cluster divides points into k groups by k-means with k-means++ seeding (Arthur and Vassilvitskii
// 2007), using the best of ten starts. It returns the cluster of each point. Clusters are numbered
// by their first point. Equal arguments give equal clusters. With k or fewer points, each point is
// a cluster. A k below 1 means 1.
func Cluster(points [][]float64, k int, seed string) []int {
	n := len(points)
	if k = max(1, k); n <= k {
		each := make([]int, n)
		for i := range each {
			each[i] = i
		}
		return each
	}
	var best []int
	lowest := math.Inf(1)
	for start := range restarts {
		stream := keyedrand.Key{Run: seed, Iteration: start, Purpose: "k-means++"}.Stream()
		assigned, inertia := lloyd(points, plusPlus(points, k, &stream))
		if inertia < lowest {
			best, lowest = assigned, inertia
		}
	}
	return numbered(best)
}

// plusPlus selects centers among the points, each with a probability proportional to its squared
// distance from the nearest earlier center.
func plusPlus(points [][]float64, k int, stream *keyedrand.Stream) [][]float64 {
	centers := [][]float64{points[stream.IntN(len(points))]}
	nearest := make([]float64, len(points))
	for i := range nearest {
		nearest[i] = math.Inf(1)
	}
	for len(centers) < k {
		total := 0.0
		for i, p := range points {
			nearest[i] = min(nearest[i], distance(p, centers[len(centers)-1]))
			total += nearest[i]
		}
		at, chosen := stream.Float64()*total, 0
		for i, d := range nearest {
			if d > 0 {
				chosen = i // the last possible one, in case of rounding errors
			}
			if at -= d; at < 0 {
				break
			}
		}
		centers = append(centers, points[chosen])
	}
	return centers
}

// lloyd moves centers to the means of their nearest points until nothing changes. inertia is the
// sum of squared distances.
func lloyd(points, centers [][]float64) (assigned []int, inertia float64) {
	assigned = make([]int, len(points))
	for i := range assigned {
		assigned[i] = -1
	}
	for range sweeps {
		changed := false
		inertia = 0
		for i, p := range points {
			nearest, least := 0, math.Inf(1)
			for c, center := range centers {
				if d := distance(p, center); d < least {
					nearest, least = c, d
				}
			}
			changed = changed || assigned[i] != nearest
			assigned[i] = nearest
			inertia += least
		}
		if !changed {
			break
		}
		centers = means(points, assigned, centers)
	}
	return assigned, inertia
}

// means returns the centers of the clusters. An empty cluster keeps its center.
func means(points [][]float64, assigned []int, centers [][]float64) [][]float64 {
	moved, counts := make([][]float64, len(centers)), make([]float64, len(centers))
	for c := range moved {
		moved[c] = make([]float64, len(points[0]))
	}
	for i, p := range points {
		counts[assigned[i]]++
		for j, x := range p {
			moved[assigned[i]][j] += x
		}
	}
	for c := range moved {
		if counts[c] == 0 {
			moved[c] = centers[c]
			continue
		}
		for j := range moved[c] {
			moved[c][j] /= counts[c]
		}
	}
	return moved
}

func distance(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += (a[i] - b[i]) * (a[i] - b[i])
	}
	return sum
}

// numbered renumbers clusters in the order of their first points.
func numbered(assigned []int) []int {
	names := map[int]int{}
	out := make([]int, len(assigned))
	for i, c := range assigned {
		if _, there := names[c]; !there {
			names[c] = len(names)
		}
		out[i] = names[c]
	}
	return out
}
