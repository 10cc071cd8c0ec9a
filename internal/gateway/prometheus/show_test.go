package prometheus

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/metrics"
)

func TestAWorkerShowsItsCounts(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	stop, err := Show("127.0.0.1:0", slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	metrics.Blocked("core")
	metrics.InexactSearch()
	metrics.Outcomes("train", 6, 2, true)
	for n := range byte(5) { // changes four times
		metrics.RecordPromptPrefix(1, [32]byte{n}, time.Now())
	}
	answer, err := http.Get(regexp.MustCompile(`http://\S+/metrics`).FindString(log.String()))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	shown, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"cairn_search_inexact_total 1", `cairn_blocked_entries_total{store="core"} 1`,
		`cairn_prefix_changes_bucket{le="1"} 1`, `cairn_prefix_changes_bucket{le="3"} 3`,
		`cairn_prefix_changes_bucket{le="5"} 4`,
		`cairn_prefix_changes_bucket{le="+Inf"} 4`, "cairn_prefix_changes_sum 10", "cairn_prefix_changes_count 4",
		"go_goroutines",
		`cairn_learning_outcomes_total{kind="train",state="scored"} 6`,
		`cairn_learning_outcomes_total{kind="train",state="masked"} 2`, `cairn_learning_alarms_total{kind="train"} 1`} {
		if !strings.Contains(string(shown), want) {
			t.Errorf("no %s in\n%s", want, shown)
		}
	}
}

func TestAWorkerSaysWhereItCannotShowItsCounts(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if _, err := Show(taken.Addr().String(), slog.New(slog.DiscardHandler)); fault.CodeOf(err) != fault.Misconfigured {
		t.Error(err)
	}
	stop, err := Show("", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	stop()
}
