package speed

import (
	"context"
	"errors"
	"fmt"
)

// Measurement is the result on one kind of Temporal server.
type Measurement struct {
	Server     string     `json:"server"` // InMemory or InFile
	Latency    Latency    `json:"latency"`
	Throughput Throughput `json:"throughput"`
}

// RunDistillations measures the cost of distillations in addition to their model calls,
// as ratios within one run on one machine:
//
//   - latency: the time of a distillation of three tasks with a fixed response time of the
//     model, divided by its critical path. This is the longest chain of calls: segment,
//     extract, files;
//   - throughput: parallel distillations per second with a fast model, compared with empty
//     workflows of the same shape on the same server;
//   - CPU time of the worker for each distillation.
//
// Each is measured with a Temporal server with its state in memory and with one with its
// state in a file. Postgres uses synchronous commits in both cases. The worker is a separate
// process.
func RunDistillations(ctx context.Context, o DistillOptions) ([]Measurement, error) {
	o = o.withDefaults()
	l, err := distillOpenLab(ctx, o)
	if err != nil {
		return nil, err
	}
	var out []Measurement
	for _, server := range o.Servers {
		m, measureErr := l.measure(ctx, server)
		if err = measureErr; err != nil {
			break
		}
		out = append(out, m)
	}
	return out, errors.Join(err, l.close())
}

func (l *distillLab) measure(ctx context.Context, server string) (m Measurement, err error) {
	b, err := l.openBench(ctx, server)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	m.Server = server
	fmt.Fprintf(l.options.Log, "bench: latency with Temporal in %s\n", server)
	if m.Latency, err = b.latency(ctx, server); err != nil {
		return m, err
	}
	fmt.Fprintf(l.options.Log, "bench: throughput with Temporal in %s\n", server)
	m.Throughput, err = b.throughput(ctx, server)
	return m, err
}
