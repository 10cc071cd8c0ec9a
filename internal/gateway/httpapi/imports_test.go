package httpapi_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"net/http"
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/service/intake"
	"cairn/internal/testkit"
)

// zipOf returns an archive of files, given as names and contents.
func zipOf(t *testing.T, files ...string) string {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for i := 0; i < len(files); i += 2 {
		f, err := w.Create(files[i])
		testkit.Must(t, err)
		_, err = f.Write([]byte(files[i+1]))
		testkit.Must(t, err)
	}
	testkit.Must(t, w.Close())
	return out.String()
}

func TestAnArchiveOfSessionsIsImported(t *testing.T) {
	t.Parallel()
	b := setup(t)
	archive := zipOf(t, "a.json", `[{"role":"user","content":"Where is the key?"}]`,
		"b.json", `{"messages":[{"role":"user","content":"Under the mat."}]}`, "readme.md.bak", "x")
	var made intake.ImportedFiles
	b.post("/v1/imports?name=sessions.zip", archive).into(http.StatusAccepted, &made)
	if len(made.Imports) != 2 || !made.Imports[0].New || made.Report.Messages != 2 || made.Report.Skipped == nil {
		t.Fatalf("imported %+v", made)
	}
	var one conversation.Import
	testkit.Eventually(t, "the conversations are stored", func() bool {
		b.get(fmt.Sprintf("/v1/imports/%d", made.Imports[1].ID)).into(http.StatusOK, &one)
		return one.StoredAt != nil
	})
	if len(one.Conversations) != 1 {
		t.Fatalf("stored %+v", one)
	}
	var page httpapi.MessageList
	b.get("/v1/conversations/"+one.Conversations[0]+"/messages").into(http.StatusOK, &page)
	if len(page.Messages) != 1 || page.Messages[0].Content != "Under the mat." {
		t.Errorf("messages %+v", page.Messages)
	}
	b.post("/v1/imports?name=other.zip", archive).into(http.StatusAccepted, &made)
	if made.Imports[0].New || made.Imports[0].Name != "a.json" {
		t.Errorf("the same files are %+v", made.Imports)
	}
	var list httpapi.ImportList
	b.get("/v1/imports?limit=1").into(http.StatusOK, &list)
	if len(list.Imports) != 1 || list.Next != list.Imports[0].ID {
		t.Errorf("the first page is %+v", list)
	}
	b.post(fmt.Sprintf("/v1/imports/%d/reparse", one.ID), nil).into(http.StatusAccepted, &one)
}

func TestADamagedArchiveStoresNothing(t *testing.T) {
	t.Parallel()
	b := idle(t)
	archive := zipOf(t, "a.json", `[{"role":"user","content":"Where is the key?"}]`, "b.json", `[{"role":"user",`)
	b.post("/v1/imports", archive).refused(fault.InvalidArgument)
	b.post("/v1/imports?format=odd", `[{"role":"user","content":"Hello"}]`).refused(fault.InvalidArgument)
	b.post("/v1/imports", `{"plan":1}`).refused(fault.InvalidArgument)
	var list httpapi.ImportList
	b.get("/v1/imports").into(http.StatusOK, &list)
	if len(list.Imports) != 0 {
		t.Errorf("stored %+v", list)
	}
	b.get("/v1/imports/7").refused(fault.NotFound)
	b.key = b.makeKey(b.Workspace, access.Read)
	b.post("/v1/imports", `[{"role":"user","content":"Hello"}]`).refused(fault.OutOfScope)
}
