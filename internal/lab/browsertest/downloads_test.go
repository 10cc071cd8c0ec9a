package browsertest_test

import (
	"bytes"
	"strings"
	"testing"
)

// The package of a skill, the memories and the audit log are downloaded as files.
func TestFilesAreDownloaded(t *testing.T) {
	f, b := signedIn(t)
	b.Visit(f.At("skills", f.Versioned) + "?version=1")
	name, content := b.Download("a[href*='/package']")
	if !strings.HasSuffix(name, ".zip") || !bytes.HasPrefix(content, []byte("PK")) {
		t.Errorf("the package %s has %d bytes", name, len(content))
	}
	b.Visit(f.At("memories"))
	name, content = b.Download("a[href$='/memories/dump']")
	if name != "memories.ndjson" || !bytes.Contains(content, []byte("Lives in Oslo.")) {
		t.Errorf("the dump %s: %s", name, content)
	}
	b.Visit(f.At("audit") + "?action=console.sign_in")
	name, content = b.Download("a[href*='/audit/export']")
	if !strings.HasSuffix(name, ".ndjson") || !bytes.Contains(content, []byte("console.sign_in")) ||
		bytes.Contains(content, []byte("key.create")) {
		t.Errorf("the audit log %s: %s", name, content)
	}
}

// The address of the console opens the overview of the workspace.
func TestTheConsoleBeginsWithTheOverview(t *testing.T) {
	f, b := signedIn(t)
	b.Visit(f.At("skills"))
	b.Visit("/console/")
	if b.Path() != f.At() {
		t.Errorf("the console begins with %s", b.Path())
	}
}
