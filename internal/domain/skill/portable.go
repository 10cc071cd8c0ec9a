package skill

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Limits of the Agent Skills specification (agentskills.io), in characters unless stated otherwise.
const (
	portableName          = 64
	portableDescription   = 1024
	portableCompatibility = 500
	portableLines         = 500  // of the body, recommended
	portableTokens        = 5000 // of the body, recommended
	charsPerToken         = 4    // approximate value for English
)

// portableFields are the only fields that the frontmatter may have.
var portableFields = []string{"name", "description", "license", "compatibility", "metadata", "allowed-tools"}

// CheckPortable checks a package against the Agent Skills specification. wrong lists violations, for
// which another agent may reject it. advice lists recommendations that the package does not follow.
func CheckPortable(archive []byte) (wrong, advice []string) {
	files, err := unzipped(archive)
	if err != nil {
		return []string{"not a zip archive: " + err.Error()}, nil
	}
	folder := ""
	for name := range files {
		if dir, file := path.Split(name); file == "SKILL.md" && strings.Count(dir, "/") == 1 {
			folder = strings.TrimSuffix(dir, "/")
		}
	}
	if folder == "" {
		return []string{"no SKILL.md in a folder"}, nil
	}
	for name := range files {
		inside, ok := strings.CutPrefix(name, folder+"/")
		if !ok {
			wrong = append(wrong, fmt.Sprintf("%s is outside of the folder %s", name, folder))
		} else if strings.Count(inside, "/") > 1 {
			advice = append(advice, fmt.Sprintf("%s is more than one level deep", inside))
		}
	}
	head, body, ok := bytes.Cut(bytes.TrimPrefix(files[folder+"/SKILL.md"], []byte("---\n")), []byte("\n---\n"))
	if !ok {
		return append(wrong, "SKILL.md has no frontmatter"), advice
	}
	wrong = append(wrong, wrongFields(head, folder)...)
	advice = append(advice, longBody(string(body))...)
	for _, to := range localLinks(string(body)) {
		if _, there := files[folder+"/"+to]; !there {
			advice = append(advice, fmt.Sprintf("SKILL.md refers to %s, which is not in the package", to))
		}
	}
	slices.Sort(wrong)
	slices.Sort(advice)
	return wrong, advice
}

func unzipped(archive []byte) (map[string][]byte, error) {
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, f := range r.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		opened, err := f.Open()
		if err != nil {
			return nil, err
		}
		out[f.Name], err = io.ReadAll(io.LimitReader(opened, portableMember))
		opened.Close()
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// portableMember is the number of bytes of a member that are checked.
const portableMember = 4 << 20

func wrongFields(head []byte, folder string) (wrong []string) {
	var fields map[string]any
	if err := yaml.Unmarshal(head, &fields); err != nil {
		return []string{"invalid YAML in the frontmatter: " + err.Error()}
	}
	for name := range fields {
		if !slices.Contains(portableFields, name) {
			wrong = append(wrong, fmt.Sprintf("unknown frontmatter field %q", name))
		}
	}
	text := func(field string, most int, required bool) string {
		value, there := fields[field]
		s, isText := value.(string)
		switch n := utf8.RuneCountInString(s); {
		case !there && !required:
		case !isText || strings.TrimSpace(s) == "":
			wrong = append(wrong, field+" is not text")
		case n > most:
			wrong = append(wrong, fmt.Sprintf("%s has %d characters, at most %d are allowed", field, n, most))
		}
		return s
	}
	name := text("name", portableName, true)
	text("description", portableDescription, true)
	text("compatibility", portableCompatibility, false)
	text("license", portableDescription, false)
	text("allowed-tools", portableDescription, false)
	if name != "" && !portableWord(name) {
		wrong = append(wrong, fmt.Sprintf("the name %q is not lower-case letters and digits, joined by single hyphens",
			name))
	}
	if name != folder {
		wrong = append(wrong, fmt.Sprintf("the name %q differs from the folder %q", name, folder))
	}
	if metadata, there := fields["metadata"]; there {
		facts, isMap := metadata.(map[string]any)
		if !isMap {
			wrong = append(wrong, "metadata is not a map")
		}
		for key, value := range facts {
			if _, isText := value.(string); !isText {
				wrong = append(wrong, fmt.Sprintf("metadata.%s is not text", key))
			}
		}
	}
	return wrong
}

func portableWord(name string) bool {
	other := func(r rune) bool {
		return r != '-' && !unicode.IsNumber(r) && (!unicode.IsLetter(r) || unicode.ToLower(r) != r)
	}
	return !strings.ContainsFunc(name, other) && !strings.HasPrefix(name, "-") && !strings.HasSuffix(name, "-") &&
		!strings.Contains(name, "--")
}

func longBody(body string) (advice []string) {
	if n := strings.Count(body, "\n"); n >= portableLines {
		advice = append(advice, fmt.Sprintf("the body has %d lines; fewer than %d are recommended", n, portableLines))
	}
	if n := utf8.RuneCountInString(body) / charsPerToken; n >= portableTokens {
		advice = append(advice, fmt.Sprintf("the body has about %d tokens; fewer than %d are recommended", n,
			portableTokens))
	}
	return advice
}

var markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// localLinks returns the files of the package that a body links to.
func localLinks(body string) (out []string) {
	for _, m := range markdownLink.FindAllStringSubmatch(body, -1) {
		to, _, _ := strings.Cut(m[1], "#")
		if to != "" && !strings.Contains(to, ":") && !strings.HasPrefix(to, "/") {
			out = append(out, path.Clean(to))
		}
	}
	return out
}
