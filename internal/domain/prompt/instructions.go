package prompt

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"slices"
	"strings"
	"text/template"

	"cairn/internal/domain/fault"
)

// Stage is a kind of model request. Its value is the file name of its templates.
type Stage string

// Schema returns the name of the schema of the stage's reply.
func (s Stage) Schema() string {
	if s == Merge { // a merge also returns a draft
		return string(Extract)
	}
	return string(s)
}

// Distill is the system message that all stages of distillation share. Their own instructions follow the
// transcript, see Step.
const Distill Stage = "distill"

// Stages of distillation.
const (
	Segment       Stage = "segment"        // window → tasks with queries and outcomes
	Notes         Stage = "notes"          // window of a task that is longer → cited findings
	Extract       Stage = "extract"        // task and candidates → skill draft with file plans
	ExtractSimple Stage = "extract_simple" // the same, core fields only
	Merge         Stage = "merge"          // draft and a newer head → skill draft
	Files         Stage = "files"          // draft, plans and excerpts → scripts and documents
	Judge         Stage = "judge"          // draft and task → score
	Compare       Stage = "compare"        // two versions of a skill and task → the better one
)

// Compress is the stage of working memory: older messages → snapshot.
const Compress Stage = "compress"

// Facts adds a session to memory: memories of its subject and session → facts and summary.
const Facts Stage = "facts"

// Stages of memory skills.
const (
	Remember Stage = "remember" // span, stored memories and chosen skills → changes of memories
	Recite   Stage = "recite"   // question and memories → short answer
	Diagnose Stage = "diagnose" // cases and bank → failure patterns
	Grade    Stage = "grade"    // question, right answers and an answer → 0, 0.5 or 1
	Propose  Stage = "propose"  // analysis, cases and bank → edits of the bank
	Probe    Stage = "probe"    // spans → questions with answers
)

// Stages that refine the results of a fast search.
const (
	Rerank   Stage = "rerank"   // question and memories → order of the memories
	Condense Stage = "condense" // question and memories → one text
)

//go:embed templates/*.md
var templateFiles embed.FS

var templates = map[string]*template.Template{
	"en": template.Must(template.ParseFS(templateFiles, "templates/*.en.md")),
	"zh": template.Must(template.ParseFS(templateFiles, "templates/*.zh.md")),
}

// Instructions returns the instructions of a stage: its system message or, for the stages of distillation, a
// part of its user message. A lang with the prefix zh selects the Chinese
// text. Any other selects the English text, which asks for the users' language. A run pins the
// result, so that a later build with other templates sends the same bytes.
func Instructions(stage Stage, lang string) (string, error) {
	own := language(lang)
	text := templates[own].Lookup(string(stage) + "." + own + ".md")
	if text == nil || slices.Contains(apart, string(stage)) {
		return "", fault.Newf(fault.InvalidArgument, "no instructions for stage %q", stage)
	}
	var out strings.Builder
	if err := text.Execute(&out, nil); err != nil {
		return "", fault.Wrap(err, fault.Internal, "render the instructions of stage "+string(stage), "")
	}
	return strings.TrimSpace(out.String()), nil
}

// apart lists templates that are not stages of distillation: shared parts, and templates with their
// own data.
var apart = []string{"frame", "guidance", "session", "nudge", "reflection", "flush", "agents", "agent_summarize",
	"agent_retrieve", "agent_specialist_personal", "agent_specialist_procedural", "agent_specialist_tool",
	"agent_specialist_identity"}

// Hash identifies a system message: the first 16 hexadecimal digits of its SHA-256. Versions store
// it as the identity of their instructions.
func Hash(system string) string {
	sum := sha256.Sum256([]byte(system))
	return hex.EncodeToString(sum[:8])
}
