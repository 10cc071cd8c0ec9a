package deploy_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"

	"cairn/internal/adapter/devstack"
	"cairn/internal/domain/contract"
	"cairn/internal/lab/devtest"
)

// temporalTool returns the folder of a program `temporal` like that of admin-tools.
func temporalTool(t *testing.T) string {
	t.Helper()
	if path, err := exec.LookPath("temporal"); err == nil {
		return filepath.Dir(path)
	}
	cache, err := devstack.Cache()
	if err != nil {
		t.Fatal(err)
	}
	found, _ := filepath.Glob(filepath.Join(cache, "temporal-v*", "temporal"))
	if len(found) == 0 {
		t.Skip("TEMPORAL_ADDRESS names an external server, and there is no program temporal here to run namespace.sh")
	}
	return filepath.Dir(found[len(found)-1])
}

// The job runs at every start, and creates what is missing.
func TestTheNamespaceJobMakesWhatIsMissing(t *testing.T) {
	t.Parallel()
	address := devtest.Stack(t).TemporalAddress
	namespace := fmt.Sprintf("deploy-%x", time.Now().UnixNano())
	tool := temporalTool(t)
	for range 2 {
		c := exec.CommandContext(t.Context(), "sh", "temporal/namespace.sh")
		c.Env = []string{"PATH=" + tool + ":" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TEMPORAL_ADDRESS=" + address,
			"TEMPORAL_NAMESPACE=" + namespace, "PAUSE=1"}
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		} else if strings.Contains(string(out), "did not succeed") {
			t.Logf("%s", out)
		}
	}
	server, err := client.Dial(client.Options{HostPort: address, Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	made, err := server.OperatorService().
		ListSearchAttributes(t.Context(), &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	for name := range contract.SearchAttributes() {
		if made.CustomAttributes[name] != enums.INDEXED_VALUE_TYPE_KEYWORD {
			t.Errorf("%s is %v", name, made.CustomAttributes[name])
		}
	}
}
