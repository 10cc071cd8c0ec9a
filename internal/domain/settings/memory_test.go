package settings

import (
	"testing"

	"cairn/internal/domain/fault"
)

func TestAnAgentsModeStandsOverWhatHoldsForAll(t *testing.T) {
	t.Parallel()
	s, err := Patch(Default(), []byte(`{"memory":{"profile":"typed","thinking":"param","single":true,`+
		`"modes":{"retrieve":{"profile":"usual","thinking":"native","calls":"multiple"},"tool":{"thinking":"none"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if r := s.Memory.Modes.Retrieve.Over(s.Memory); r.Profile != "" || r.Thinking != ThinkNative || r.Single {
		t.Errorf("retrieve: %+v", r)
	}
	if r := s.Memory.Modes.Tool.Over(s.Memory); r.Profile != Typed || r.Thinking != ThinkNone || !r.Single {
		t.Errorf("tool: %+v", r)
	}
	if r := s.Memory.Modes.Personal.Over(s.Memory); r.Profile != Typed || r.Thinking != ThinkParameter || !r.Single {
		t.Errorf("personal: %+v", r)
	}
	for _, patch := range []string{`{"memory":{"thinking":"aloud"}}`, `{"memory":{"profile":"other"}}`,
		`{"memory":{"modes":{"tool":{"calls":"two"}}}}`, `{"memory":{"modes":{"tool":{"thinking":"aloud"}}}}`,
		`{"tools":{"wings":true}}`,
		`{"memory":{"learning":{"explore_per_day":-1}}}`, `{"memory":{"learning":{"explore_per_day":100001}}}`,
		`{"memory":{"learning":{"version":-1,"frozen":true}}}`, `{"memory":{"learning":{"version":3}}}`,
		`{"memory":{"learning":{"frozen":"yes"}}}`, `{"memory":{"learning":{"thawed":true}}}`,
		`{"memory":{"learning":{"canary_percent":0}}}`, `{"memory":{"learning":{"canary_percent":51}}}`,
		`{"memory":{"skills":{"k":0}}}`, `{"memory":{"skills":{"k":31}}}`,
		`{"memory":{"learning":{"probes_per_day":-1}}}`, `{"memory":{"learning":{"probes_per_day":1001}}}`} {
		if _, err := Patch(Default(), []byte(patch)); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%s: %v", patch, err)
		}
	}
}
