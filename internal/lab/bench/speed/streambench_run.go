package speed

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"cairn/internal/lab/bench/ground"
)

// StreamOptions configures a run.
type StreamOptions struct {
	Program string        // path of the cairn binary
	Log     io.Writer     // progress messages
	AtOnce  []int         // numbers of streams at once; one row each
	Turns   int           // at least, of all streams together
	Parts   int           // of each reply
	Pace    time.Duration // between two parts of a reply
}

// StreamRow is the result with a number of streams at once.
type StreamRow struct {
	AtOnce  int
	Turns   int             // of each stream
	First   []time.Duration // from a request to the first text, without the model's own time
	Delays  []time.Duration // from the model to the client, of each part
	CPU     time.Duration   // of the gateway and its worker
	Elapsed time.Duration
}

// RunStreams measures how long text takes from a model to the client of a streamed chat. The
// model writes the time into each part of its text, and the client compares it with its clock. The model,
// the gateway and the client run on one machine.
func RunStreams(ctx context.Context, o StreamOptions) (rows []StreamRow, err error) {
	m := newModel(o.Parts, o.Pace)
	defer m.Close()
	home, err := os.MkdirTemp("", "cairn-stream")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home)
	// If this process is root, Postgres runs as another user and stores its data in this folder.
	if err := os.Chmod(home, 0o755); err != nil {
		return nil, err
	}
	g, err := ground.StartGateway(ctx, o.Program, home, o.Log, "OPENAI_BASE_URL="+m.URL+"/v1", "OPENAI_API_KEY=sk-test",
		"CAIRN_MODEL=clock", "CAIRN_RATE_LIMIT=0", "CAIRN_MICROS_PER_DAY=unlimited")
	if err != nil {
		return nil, err
	}
	defer g.Stop()
	if _, err := measure(ctx, o, g, m, 2, "warm-up"); err != nil {
		return nil, err
	}
	for _, n := range o.AtOnce {
		fmt.Fprintf(o.Log, "stream: %d at once\n", n)
		row, err := measure(ctx, o, g, m, n, fmt.Sprint(n))
		if err != nil {
			return rows, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// measure streams turns of n conversations at once.
func measure(
	ctx context.Context,
	o StreamOptions,
	g *ground.Gateway,
	m *streamModel,
	n int,
	name string,
) (row StreamRow, err error) {
	m.mu.Lock()
	m.waits = nil
	m.mu.Unlock()
	row = StreamRow{AtOnce: n, Turns: max(1, o.Turns/n)}
	before, err := g.CPU()
	if err != nil {
		return row, err
	}
	began := time.Now()
	var wg sync.WaitGroup
	var mu sync.Mutex
	for c := range n {
		wg.Go(func() {
			for turn := range row.Turns {
				s, failed := stream(ctx, g, fmt.Sprintf("%s-%d", name, c), turn)
				mu.Lock()
				if err = errors.Join(err, failed); failed == nil && s.parts != o.Parts {
					err = errors.Join(err, fmt.Errorf("%d of %d parts arrived", s.parts, o.Parts))
				}
				row.First, row.Delays = append(row.First, s.first), append(row.Delays, s.delays...)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	row.Elapsed = time.Since(began)
	after, failed := g.CPU()
	row.CPU = after - before
	m.mu.Lock()
	defer m.mu.Unlock()
	own := quantile(m.waits, 0.5)
	for i := range row.First {
		row.First[i] -= own
	}
	return row, errors.Join(err, failed)
}

// streamed is what a client saw of one reply.
type streamed struct {
	first  time.Duration
	delays []time.Duration
	parts  int
}

func stream(ctx context.Context, g *ground.Gateway, conversation string, turn int) (s streamed, err error) {
	body, err := json.Marshal(map[string]any{"model": "cairn", "stream": true,
		"messages": []map[string]string{{"role": "user", "content": fmt.Sprintf("Message %d", turn)}}})
	if err != nil {
		return s, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.URL+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return s, err
	}
	r.Header.Set("Authorization", "Bearer "+g.Key)
	r.Header.Set("X-Cairn-Conversation", conversation)
	began := time.Now()
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return s, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(response.Body) // for the message only
		return s, fmt.Errorf("status %d: %s", response.StatusCode, text)
	}
	done := false
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if done = done || data == "[DONE]"; !ok || done {
			continue
		}
		now := time.Now()
		var part struct {
			Choices []struct{ Delta struct{ Content string } }
			Error   *struct{ Message string }
		}
		if err := json.Unmarshal([]byte(data), &part); err != nil {
			return s, err
		}
		if part.Error != nil {
			return s, errors.New(part.Error.Message)
		}
		for _, c := range part.Choices {
			for _, text := range strings.Fields(c.Delta.Content) {
				at, err := strconv.ParseInt(text, 10, 64)
				if err != nil {
					return s, err
				}
				if s.parts++; s.parts == 1 {
					s.first = now.Sub(began)
				}
				s.delays = append(s.delays, now.Sub(time.Unix(0, at)))
			}
		}
	}
	if !done {
		return s, errors.New("the stream ended early")
	}
	return s, nil
}

// quantile returns a quantile of durations, 0 without any.
func quantile(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// PrintStreams writes the rows as a table.
func PrintStreams(w io.Writer, rows []StreamRow) error {
	for _, r := range rows {
		cores := float64(r.CPU) / float64(r.Elapsed)
		_, err := fmt.Fprintf(
			w,
			"%d at once: first text p50 %s, p99 %s (without the model); a part takes p50 %s, p99 %s; "+
				"%.2f cores\n",
			r.AtOnce,
			streamMs(quantile(r.First, 0.5)),
			streamMs(quantile(r.First, 0.99)),
			streamMs(quantile(r.Delays, 0.5)),
			streamMs(quantile(r.Delays, 0.99)),
			cores,
		)
		if err != nil {
			return err
		}
	}
	return nil
}

func streamMs(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}
