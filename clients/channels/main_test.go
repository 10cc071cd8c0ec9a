package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"cairn/internal/lab/fakes/channeltest"
	"cairn/internal/testkit"
)

// A program drives a fake through FAKE_URL, and the fake ends with the program's pipe.
func TestEachFakeIsServed(t *testing.T) {
	t.Parallel()
	for name, start := range platforms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := start()
			testkit.Must(t, err)
			t.Cleanup(s.Close)
			in, program := io.Pipe()
			lines, out := io.Pipe()
			ended := make(chan error, 1)
			go func() { ended <- channeltest.Serve(s, in, out) }()
			line, err := bufio.NewReader(lines).ReadString('\n')
			testkit.Must(t, err)
			url := strings.TrimPrefix(strings.TrimSpace(line), "FAKE_URL=")
			control(t, url, "fail", map[string]any{"Fault": channeltest.Gone})
			if sent := control(t, url, "sent", map[string]any{}); sent != nil && len(sent.([]any)) != 0 {
				t.Errorf("sent %v", sent)
			}
			testkit.Must(t, program.Close())
			testkit.Must(t, <-ended)
		})
	}
}

func TestAPlatformMustBeKnown(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"nonsense"}, {"discord", "feishu"}} {
		if err := serve(args); err == nil || !strings.Contains(err.Error(), "dingtalk, discord, feishu") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func control(t *testing.T, url, action string, body map[string]any) (out any) {
	t.Helper()
	raw, err := json.Marshal(body)
	testkit.Must(t, err)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/control/"+action, bytes.NewReader(raw))
	testkit.Must(t, err)
	res, err := http.DefaultClient.Do(r)
	testkit.Must(t, err)
	defer res.Body.Close()
	testkit.Must(t, json.NewDecoder(res.Body).Decode(&out))
	return out
}
