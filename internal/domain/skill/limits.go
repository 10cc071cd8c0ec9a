package skill

// Limits of a draft (spec/skill-memory.md §1.7). Runes unless a unit is named.
// What exceeds a limit is cut with a note, except a procedure, which is sent
// back for repair: half a procedure is worse than none.
const (
	MaxName        = 80
	MaxDescription = 1024
	MaxProcedure   = 20_000
	MaxItems       = 20  // of experience, preference and tools
	MaxUpdateItems = 200 // of experience and preference in an update, the skill's own among them
	MaxTriggers    = 15
	MaxTrigger     = 64
	MaxExamples    = 5
	MaxExample     = 8_000
	MaxPlanned     = 8 // scripts, and as many documents
)

// Limits of a content that a tool saves (spec/procedural-memory.md §1.1), in
// runes unless a unit is named.
const (
	MaxContent           = 100_000
	MaxContentBytes      = 256 << 10
	MaxAutonomousContent = 40_000 // of a run that no person started
	LongContent          = 12_000 // from which on there is a warning
	MaxPatch             = 20_000 // of the old and of the new text
)

// Limits of a package (§1.10), in bytes; they equal what MemOS' hub enforces.
const (
	MaxSkillMD  = 100 << 10
	MaxFile     = 512 << 10
	MaxFiles    = 50 // with SKILL.md
	MaxPackage  = 5 << 20
	MaxFileName = 80 // runes
)

// keptShare is how much of a procedure's lines an update should keep, in
// percent, before it is flagged.
const keptShare = 70

// maxCanonical is the longest name that the Agent Skills specification allows,
// in runes.
const maxCanonical = 64
