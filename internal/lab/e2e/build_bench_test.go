package e2e_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
)

// BenchmarkSpans measures the spans remembered per second with a model that takes 5 ms, through
// Temporal and Postgres, for one session and for four concurrent ones. The spans of one session
// run in sequence.
func BenchmarkSpans(b *testing.B) {
	const messages, delay = 32, 5 * time.Millisecond
	bundle := apptest.Open(b)
	bundle.Model.On(openaitest.Rule{Stage: "remember", Delay: delay, ReplyFunc: func(c openaitest.Call) string {
		m, err := prompt.ReadMaterial(c.Messages[1].Content)
		if err != nil {
			return err.Error()
		}
		words := sha256.Sum256([]byte(c.Messages[1].Content))
		fact := fmt.Sprintf("Keeps %x with %x and %x.", words[:4], words[4:8], words[8:12])
		return fmt.Sprintf(`{"actions":[{"type":"insert","target":null,"content":%q,"about":"Vera",`+
			`"memory_type":"personal","evidence":[%d],"skill":"insert"}]}`, fact, m.Messages[0].Index)
	}})
	number := 0
	for _, sessions := range []int{1, 4} {
		b.Run(fmt.Sprintf("%dsessions", sessions), func(b *testing.B) {
			spans := 0
			for range b.N {
				var begun []run.Run
				for range sessions {
					number++
					var said []transcript.Message
					for i := range messages {
						said = append(said, transcript.Message{Role: transcript.User, Name: "Vera",
							Content: fmt.Sprintf("Box %d of %d.", i, number) + strings.Repeat(" padding", 80)})
					}
					begun = append(begun, buildSession(bundle, said))
				}
				for _, r := range begun {
					got := builtBy(bundle, r.Ref)
					if spans += got.Spans; got.Outcome != run.Completed || len(got.Added) < messages/2 {
						b.Fatalf("%+v", got)
					}
				}
			}
			b.ReportMetric(float64(spans)/b.Elapsed().Seconds(), "spans/s")
		})
	}
}
