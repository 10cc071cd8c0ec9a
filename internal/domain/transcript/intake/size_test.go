package intake_test

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/transcript/intake"
)

// session writes a session as it is read, so that the input itself takes no memory.
type session struct {
	format string
	left   int // bytes still to write
	turn   int
	next   bytes.Buffer
	ended  bool
}

// large returns about size bytes of a session, as JSON lines or as one document.
func large(format string, size int) io.Reader {
	s := &session{format: format, left: size}
	if format == intake.OpenAIChat {
		s.next.WriteString("{\"messages\": [{\"role\": \"user\", \"content\": \"Begin.\"}\n")
	}
	return s
}

var play = strings.Repeat("All work and no play. ", 60)

func (s *session) Read(p []byte) (int, error) {
	if s.next.Len() == 0 && !s.ended {
		s.more()
	}
	n, err := s.next.Read(p)
	s.left -= n
	return n, err
}

func (s *session) more() {
	i := s.turn
	s.turn++
	if s.left < 4096 {
		if s.ended = true; s.format == intake.OpenAIChat {
			s.next.WriteString("]}")
		}
		return
	}
	if s.format == intake.OpenAIChat {
		fmt.Fprintf(&s.next, ",\n{\"role\": \"assistant\", \"content\": \"%s\", \"tool_calls\": [{\"id\": \"c%d\", "+
			"\"function\": {\"name\": \"f\", \"arguments\": \"{}\"}}]},\n{\"role\": \"tool\", "+
			"\"tool_call_id\": \"c%d\", \"content\": \"%s\"}", play, i, i, play)
		return
	}
	fmt.Fprintf(&s.next, `{"parentUuid":"u%d","isSidechain":false,"sessionId":"s",`+
		`"type":"assistant",`+
		`"message":{"id":"m%d","role":"assistant","content":[{"type":"text","text":"%s"},`+
		`{"type":"tool_use","id":"t%d","name":"f","input":{}}]},"uuid":"a%d"}`+"\n", i, i, play, i, i)
	fmt.Fprintf(&s.next, `{"parentUuid":"a%d","isSidechain":false,"sessionId":"s",`+
		`"type":"user",`+
		`"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d",`+
		`"content":"%s"}]},"uuid":"u%d"}`+"\n", i, i, play, i+1)
}

// BenchmarkRead64MiB reports the time of 64 MiB and the memory that reading adds at its peak.
func BenchmarkRead64MiB(b *testing.B) {
	for _, format := range []string{"claude-code", intake.OpenAIChat} {
		b.Run(format, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				in := large(format, intake.MaxInput-8<<10)
				runtime.GC()
				peak := watch()
				b.StartTimer()
				if _, err := intake.Read("large", in, intake.Options{}); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				b.ReportMetric(float64(peak())/(1<<20), "peak-MiB")
				b.StartTimer()
			}
		})
	}
}

// watch returns a function that returns the highest memory in use since then, less that at the
// beginning.
func watch() (peak func() uint64) {
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	done, result := make(chan struct{}), make(chan uint64)
	go func() {
		most := uint64(0)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				result <- most
				return
			case <-tick.C:
				runtime.ReadMemStats(&now)
				if now.HeapInuse > before.HeapInuse {
					most = max(most, now.HeapInuse-before.HeapInuse)
				}
			}
		}
	}()
	return func() uint64 {
		close(done)
		return <-result
	}
}
