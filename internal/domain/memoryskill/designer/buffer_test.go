package designer_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/internal/domain/memoryskill/designer"
)

// held formats a buffer as key:failures@iteration.
func held(b designer.Buffer, iteration int) string {
	var parts []string
	for _, c := range b.Cases(iteration) {
		parts = append(parts, fmt.Sprintf("%s:%d@%d", c.Key(), c.Failures, c.Iteration))
	}
	return strings.Join(parts, " ")
}

func failed(key string) designer.Case { return designer.Case{QueryID: key, Question: "about " + key} }

func TestBufferForgetsByWindowAndRoom(t *testing.T) {
	t.Parallel()
	b := designer.NewBuffer(3, 3)
	b = b.Fail(failed("a"), 0).Fail(failed("b"), 1).Fail(failed("a"), 2).Succeed("c", 2).Fail(failed("d"), 3)
	b = b.Fail(failed("e"), 5)
	if got, want := held(b, 5), "a:2@2 d:1@3 e:1@5"; got != want {
		t.Errorf("after e: %s, want %s", got, want)
	}
	b = b.Fail(failed("f"), 5)
	if got, want := held(b, 5), "d:1@3 e:1@5 f:1@5"; got != want {
		t.Errorf("after f: %s, want %s", got, want)
	}
	b = b.Fail(failed("b"), 5)
	if got, want := held(b, 5), "b:1@5 e:1@5 f:1@5"; got != want {
		t.Errorf("at the end: %s, want %s", got, want)
	}
	if got := held(b, 9); got != "" {
		t.Errorf("after the window: %s", got)
	}
	for _, room := range []int{0, -1} {
		if got := held(designer.NewBuffer(3, room).Fail(failed("a"), 0), 0); got != "" {
			t.Errorf("without room: %s", got)
		}
	}
}

func TestBufferCountsAnIterationOnce(t *testing.T) {
	t.Parallel()
	b := designer.NewBuffer(100, 10).Fail(failed("a"), 4).Fail(failed("a"), 4)
	again := failed("a")
	again.Prediction = "newer"
	later := b.Fail(again, 5)
	if got := held(later, 5); got != "a:2@5" || later.Cases(5)[0].Prediction != "newer" {
		t.Errorf("%s", got)
	}
	if got := held(b, 5); got != "a:1@4" {
		t.Errorf("the buffer that was added to changed: %s", got)
	}
}

func TestSuccessResolvesACaseStepByStep(t *testing.T) {
	t.Parallel()
	b := designer.NewBuffer(100, 10)
	for i := range 4 {
		b = b.Fail(failed("a"), i)
	}
	for _, want := range []string{"a:2@3", "a:1@3", ""} {
		b = b.Succeed("a", 4)
		if got := held(b, 4); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestBufferIsRestoredFromItsCases(t *testing.T) {
	t.Parallel()
	b := designer.NewBuffer(5, 5).Fail(failed("a"), 1).Fail(failed("b"), 2).Fail(failed("a"), 3)
	restored := designer.NewBuffer(5, 5, b.Cases(3)...)
	if held(restored.Fail(failed("a"), 4), 4) != held(b.Fail(failed("a"), 4), 4) {
		t.Error("the restored buffer goes on differently")
	}
	nameless := designer.Case{Question: "Where Is It?"}
	if nameless.Key() != "where is it?" {
		t.Errorf("key %q", nameless.Key())
	}
}
