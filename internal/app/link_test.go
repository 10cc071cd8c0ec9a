package app_test

import (
	"testing"

	"cairn/internal/app"
	"cairn/internal/app/config"
)

func TestAWorkflowHasOnePageInTheUI(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ ui, id, want string }{
		{"http://ui.example", "distill/w1/r 1", "http://ui.example/namespaces/n.acc/workflows/distill%2Fw1%2Fr%201"},
		{"http://ui.example/below/", "x", "http://ui.example/below/namespaces/n.acc/workflows/x"},
		{"", "x", ""},
		{"http://ui.example", "", ""},
	} {
		h := &app.App{Config: config.Config{TemporalUI: c.ui, TemporalNamespace: "n.acc"}}
		if got := h.WorkflowLink(c.id); got != c.want {
			t.Errorf("UI %q, workflow %q: %q, want %q", c.ui, c.id, got, c.want)
		}
	}
}
