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

// RunDistillations measures both kinds of servers.
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
