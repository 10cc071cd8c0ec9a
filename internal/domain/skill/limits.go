package skill

// Limits of a draft, in runes unless stated otherwise. Texts above a
// limit are cut with a note. A procedure above its limit is returned for repair instead, because a
// part of a procedure is harmful.
const (
	MaxName        = 80
	MaxDescription = 1024
	MaxProcedure   = 20_000
	MaxItems       = 20  // of experience, preference and tools
	MaxUpdateItems = 200 // of experience and preference in an update, including the skill's items
	MaxTriggers    = 15
	MaxTrigger     = 64
	MaxExamples    = 5
	MaxExample     = 8_000
	MaxPlanned     = 8 // scripts, and as many documents
)

// Limits of content that a tool saves, in runes unless stated
// otherwise.
const (
	MaxContent           = 100_000
	MaxContentBytes      = 256 << 10
	MaxAutonomousContent = 40_000 // of a run that no person started
	LongContent          = 12_000 // above it, there is a warning
	MaxPatch             = 20_000 // of the old text and of the new text
)

// Limits of a package, in bytes. They equal the limits of MemOS' hub.
const (
	MaxSkillMD  = 100 << 10
	MaxFile     = 512 << 10
	MaxFiles    = 50 // including SKILL.md
	MaxPackage  = 5 << 20
	MaxFileName = 80 // runes
)

// keptShare is the share of a procedure's lines, in percent, that an update must keep without a
// flag.
const keptShare = 70

// maxCanonical is the maximum length of a name in the Agent Skills specification, in runes.
const maxCanonical = 64
