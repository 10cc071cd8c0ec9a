package httpapi_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"mime/multipart"
	"net/http"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/testkit"
)

func TestAnUploadWaitsForApprovalAndKeepsItsBytes(t *testing.T) {
	t.Parallel()
	b := idle(t)
	pack := func(step string) []byte {
		markdown := "---\nname: water-plants\ndescription: Water the plants of an office\n---\n\n## Procedure\n\n1. " +
			step + "\n"
		archive, err := skill.Zip("water-plants", []byte(markdown), nil)
		testkit.Must(t, err)
		return archive
	}
	first, second := pack("Fill the can"), pack("Fill the can with rain")
	send := func(kind string, body []byte) response {
		return b.do(request{method: http.MethodPost, path: "/v1/skills/upload", body: body,
			header: map[string]string{"Content-Type": kind}})
	}
	var up httpapi.UploadResult
	send("application/zip", first).into(http.StatusAccepted, &up)
	if up.Skill.Name != "water-plants" || up.Skill.Status != skill.Candidate || up.Skill.Origin != "import" {
		t.Fatalf("uploaded %+v", up)
	}
	res := b.get("/v1/skills/water-plants/package")
	if !bytes.Equal(res.body, first) || res.header.Get("ETag") != fmt.Sprintf(`"%x"`, sha256.Sum256(first)) {
		t.Errorf("%d bytes come back of %d", len(res.body), len(first))
	}
	b.decided("s1", "approve")

	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("file", "water-plants.zip")
	testkit.Must(t, err)
	_, err = part.Write(second)
	testkit.Must(t, err)
	testkit.Must(t, w.Close())
	send(w.FormDataContentType(), form.Bytes()).into(http.StatusAccepted, &up)
	if up.Pending == 0 || up.Skill.Version != 1 {
		t.Errorf("a change of a skill that is there: %+v", up)
	}
	if got := b.decided(fmt.Sprintf("c%d", up.Pending), "approve"); got.Version != 2 {
		t.Errorf("approved: %+v", got)
	}

	b.gateway.Fetch = func(_ context.Context, url string) ([]byte, error) {
		if url != "https://example.org/water.zip" {
			t.Errorf("fetches %s", url)
		}
		return second, nil
	}
	up = httpapi.UploadResult{}
	b.post("/v1/skills/upload", map[string]any{"url": "https://example.org/water.zip"}).into(http.StatusOK, &up)
	if !up.Same {
		t.Errorf("the same again: %+v", up)
	}
}

func TestABadUploadIsRefusedAndNothingIsKept(t *testing.T) {
	t.Parallel()
	b := idle(t)
	for name, c := range map[string]struct{ kind, body string }{
		"no zip":         {"application/zip", "this is no zip"},
		"empty form":     {"multipart/form-data; boundary=x", "--x--\r\n"},
		"broken form":    {"multipart/form-data; boundary=x", "--y\r\n"},
		"no url":         {"application/json", `{"address":"https://example.org"}`},
		"loopback":       {"application/json", `{"url":"https://127.0.0.1/skill.zip"}`},
		"link-local":     {"application/json", `{"url":"https://169.254.169.254/skill.zip"}`},
		"another scheme": {"application/json", `{"url":"file:///etc/passwd"}`},
	} {
		res := b.do(request{method: http.MethodPost, path: "/v1/skills/upload", body: c.body,
			header: map[string]string{"Content-Type": c.kind}})
		if res.status < 400 || res.status >= 500 {
			t.Errorf("%s: status %d: %s", name, res.status, res.body)
			continue
		}
		res.refused(fault.InvalidArgument)
	}
	var list httpapi.SkillList
	b.get("/v1/skills?status=all").into(http.StatusOK, &list)
	if len(list.Skills) != 0 {
		t.Errorf("kept: %+v", list.Skills)
	}
}
