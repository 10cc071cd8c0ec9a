package library_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/approval"
	"cairn/internal/domain/skill"
	"cairn/internal/testkit"
)

// assets are files of a package that are kept, but not unpacked, run or shown.
var assets = map[string]string{
	"office-forms/schemas/wml.xsd":         "<xs:schema><!-- ignored by models --></xs:schema>\r\n",
	"office-forms/scripts/table.xsd":       "<xs:schema/>",
	"office-forms/assets/Inter.woff2":      "wOF2\x00\x01\x00\x00\xff\xfe" + strings.Repeat("\x9c\x81\x00\x17", 400),
	"office-forms/assets/template.docx":    "PK\x03\x04\x14\x00\x06\x00\x08\x00[Content_Types].xml",
	"office-forms/reference/examples.zip":  "PK\x05\x06" + strings.Repeat("\x00", 18),
	"office-forms/assets/fonts/Serif.ttf":  "\x00\x01\x00\x00\x00\x0f\x00\x80",
	"office-forms/scripts/fill.py":         "print('fill')\n",
	"office-forms/assets/data/records.tgz": "\x1f\x8b\x08\x00\x00\x00\x00\x00",
}

func withAssets(t *testing.T) []byte {
	t.Helper()
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	put := func(name, content string) {
		out, err := w.Create(name)
		testkit.Must(t, err)
		_, err = out.Write([]byte(content))
		testkit.Must(t, err)
	}
	put("office-forms/SKILL.md", "---\nname: office-forms\ndescription: Fills forms\n---\n\n## Procedure\n1. Fill.\n")
	for _, name := range slices.Sorted(maps.Keys(assets)) {
		put(name, assets[name])
	}
	testkit.Must(t, w.Close())
	return archive.Bytes()
}

func TestAssetsAreKeptAndNotShown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	archive := withAssets(t)
	out, err := b.Import(t.Context(), b.ws.ID, archive, "import", &approval.Override{})
	testkit.Must(t, err)
	_, back, v, err := b.Package(t.Context(), b.ws.ID, out.Head.ID, 1, "")
	testkit.Must(t, err)
	if !bytes.Equal(back, archive) || len(v.Extra) != len(assets)-1 || len(v.Files) != 1 || len(v.Risk) != 0 {
		t.Errorf("%d bytes of %d, extra %+v, files %+v, risk %q", len(back), len(archive), v.Extra, v.Files, v.Risk)
	}
	view, err := json.Marshal(b.call(b.as(agent.OriginAgent), "skill_view", object{"name": "office-forms"}))
	testkit.Must(t, err)
	for _, content := range []string{"xs:schema", "wOF2", "Content_Types"} {
		if bytes.Contains(view, []byte(content)) {
			t.Errorf("%s is shown: %s", content, view)
		}
	}
	b.does(b.as(agent.OriginAgent), "skill_patch", object{"name": "office-forms", "old_string": "1. Fill.",
		"new_string": "1. Fill the form."}, "patched", 2)
	_, back, _, err = b.Package(t.Context(), b.ws.ID, out.Head.ID, 2, "")
	testkit.Must(t, err)
	u, err := skill.Unpack(back)
	testkit.Must(t, err)
	for _, f := range u.Extra {
		if assets["office-forms/"+f.Path] != f.Content {
			t.Errorf("%s changed", f.Path)
		}
	}
	if len(u.Extra) != len(assets)-1 {
		t.Errorf("%d files are kept", len(u.Extra))
	}
}
