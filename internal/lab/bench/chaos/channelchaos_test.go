package chaos

import (
	"bytes"
	"testing"
	"time"

	"cairn/internal/lab/devtest"
	"cairn/internal/testkit"
)

// A small version of the experiment; `make chaos-channels` runs the full one.
func TestChatsOutliveTheirGateway(t *testing.T) {
	testkit.Long(t)
	worker, cairn := devtest.Program(t, "worker"), devtest.Program(t, "starter")
	t.Setenv("DATABASE_URL", "")
	t.Setenv("TEMPORAL_ADDRESS", "")
	r, err := RunChannels(t.Context(), ChannelOptions{People: 10, Messages: 60, KillEvery: 5 * time.Second,
		Log:    t.Output(),
		Worker: worker, Cairn: cairn})
	testkit.Must(t, err)
	var out bytes.Buffer
	testkit.Must(t, r.Print(&out))
	t.Logf("\n%s", &out)
	if !r.Held() || r.GatewayKills < 2 || r.Messages != 60 {
		t.Errorf("a promise was broken: %+v", r)
	}
}
