package ports_test

import (
	"testing"

	"cairn/internal/domain/ports"
)

type port interface{ Use() }

type adapter struct{}

func (adapter) Use() {}

func TestRequireNamesThePortThatIsNil(t *testing.T) {
	t.Parallel()
	var (
		missing port
		pointer *adapter
		call    func()
	)
	for name, c := range map[string]struct {
		required map[string]any
		want     string
	}{
		"nothing":       {nil, ""},
		"all are there": {map[string]any{"A": adapter{}, "B": &adapter{}, "C": func() {}}, ""},
		"an interface":  {map[string]any{"Store": missing}, "distill: port Store is nil"},
		"a pointer":     {map[string]any{"Ledger": pointer}, "distill: port Ledger is nil"},
		"a function":    {map[string]any{"Remove": call}, "distill: port Remove is nil"},
		"the first of two": {map[string]any{"Store": missing, "Blobs": missing, "Ledger": adapter{}},
			"distill: port Blobs is nil"},
	} {
		got := ""
		if err := ports.Require("distill", c.required); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
