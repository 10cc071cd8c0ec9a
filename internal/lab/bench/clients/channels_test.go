package clients

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"cairn/internal/testkit"
)

func TestEachCheckOfAPlatformHasAnSDK(t *testing.T) {
	t.Parallel()
	checks, err := filepath.Glob("../../../../clients/channels/*/check.py")
	testkit.Must(t, err)
	if len(checks) < 5 {
		t.Errorf("only %d checks", len(checks))
	}
	for _, script := range checks {
		if platform := filepath.Base(filepath.Dir(script)); channelSDKs[platform] == "" {
			t.Errorf("no SDK of %s", platform)
		}
	}
}

func TestLinesOfACheckAreRows(t *testing.T) {
	t.Parallel()
	said := "ok   a message arrives\nwarning of the SDK\nFAIL a press: KeyError: 'x'\nFAILED an edit\nok     a file\n"
	got := checksOf("slack", strings.NewReader(said))
	want := []Row{{Client: "slack", Call: "a message arrives", State: OK},
		{Client: "slack", Call: "a press", State: Failed, Detail: "KeyError: 'x'"},
		{Client: "slack", Call: "an edit", State: Failed}, {Client: "slack", Call: "a file", State: OK}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	var out strings.Builder
	testkit.Must(t, Result{Rows: got}.PrintSummary(&out))
	for _, line := range []string{"slack     4       2   slack-sdk==3.47.0\n",
		"FAILED slack: a press: KeyError: 'x'\n"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("no %q in\n%s", line, &out)
		}
	}
}

func TestChecksOfPlatformsNeedAClone(t *testing.T) {
	t.Parallel()
	if _, err := RunChannels(t.Context(), t.Output()); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("%v", err)
	}
}
