package fault

// Code names a kind of failure. The spelling is part of the API: it is what
// HTTP answers, tool results and `-o json` carry.
type Code string

const (
	InvalidArgument  Code = "invalid_argument"
	NotFound         Code = "not_found"
	AlreadyExists    Code = "already_exists"
	VersionConflict  Code = "version_conflict"
	NoMatch          Code = "no_match"
	AmbiguousMatch   Code = "ambiguous_match"
	TooLarge         Code = "too_large"
	QuotaExceeded    Code = "quota_exceeded"
	BlockedContent   Code = "blocked_content"
	SecretDetected   Code = "secret_detected"
	Protected        Code = "protected"
	NotManaged       Code = "not_managed"
	ReadRequired     Code = "read_required"
	DuplicateSuspect Code = "duplicate_suspect"
	UnknownTool      Code = "unknown_tool"
	OutOfScope       Code = "out_of_scope"
	OpReused         Code = "op_reused"
	Unavailable      Code = "unavailable"
	Erasing          Code = "erasing"
	TurnedOff        Code = "turned_off"
	Misconfigured    Code = "misconfigured"
	ModelAuth        Code = "model_auth"
	ModelRejected    Code = "model_rejected"
	ModelRefused     Code = "model_refused"
	ModelInvalid     Code = "model_invalid"
	ModelContext     Code = "model_context_length"
	Cancelled        Code = "cancelled"
	Unauthenticated  Code = "unauthenticated"
	MethodNotAllowed Code = "method_not_allowed"
	RateLimited      Code = "rate_limited"
	NotImplemented   Code = "not_implemented"
	CommandRefused   Code = "command_refused" // not begun
	CommandFailed    Code = "command_failed"
	LimitExceeded    Code = "limit_exceeded"
	UnknownOutcome   Code = "unknown_outcome" // begun, and interrupted
	Internal         Code = "internal"
)

// Row is what a code means to each kind of caller.
type Row struct {
	HTTP      int    // status of an HTTP answer
	Exit      int    // exit code of the command line, 1–125
	Retryable bool   // whether the same request can succeed later
	Hint      string // the next step when the place of failure gave none
}

// Table has one row for each code.
var Table = map[Code]Row{
	InvalidArgument:  {400, 2, false, "correct the named argument and send the request again"},
	NotFound:         {404, 3, false, "list what exists and use one of those names"},
	AlreadyExists:    {409, 4, false, "choose another name, or update the existing one"},
	VersionConflict:  {409, 4, false, "read the current version and apply the change to it"},
	NoMatch:          {422, 4, false, "read the current text and quote it exactly"},
	AmbiguousMatch:   {422, 4, false, "quote more of the surrounding text so that it matches once"},
	TooLarge:         {413, 2, false, "send less at once"},
	QuotaExceeded:    {429, 5, false, "wait until the limit resets, or raise it in the workspace's settings"},
	BlockedContent:   {422, 6, false, "remove the named lines"},
	SecretDetected:   {422, 6, false, "replace the secret by a placeholder such as {{secret:NAME}}"},
	Protected:        {403, 6, false, "unpin it first"},
	NotManaged:       {403, 6, false, "ask its owner, or propose the change for approval"},
	ReadRequired:     {412, 4, false, "view it first, then change it"},
	DuplicateSuspect: {409, 4, false, "update the named one instead, or say that a new one is wanted"},
	UnknownTool:      {404, 3, false, "use one of the offered tools"},
	OutOfScope:       {403, 6, false, "use a key with the needed scope"},
	OpReused: {409, 4, false,
		"use a new operation id, or a new generation of the run: cairn runs retry --fresh"},
	Unavailable: {503, 7, true, "try again shortly; `cairn doctor` tells what is missing"},
	Erasing:     {410, 6, false, "the workspace is being erased; use another"},
	TurnedOff:   {409, 6, false, "turn it on in the workspace's settings: cairn settings set"},
	Misconfigured: {500, 8, false, "see `cairn config` for the settings in force and `cairn doctor` for what is " +
		"missing"},
	ModelAuth:     {502, 9, false, "check the API key and its rights at the model endpoint"},
	ModelRejected: {502, 9, false, "check the model's name and the endpoint; the message is the endpoint's own"},
	ModelRefused:  {422, 9, false, "the model declined; change the input or the model"},
	ModelInvalid: {502, 9, false, "the model's answer did not fit the schema after the repairs; try a stronger " +
		"model"},
	ModelContext:     {413, 9, false, "shorten the input, or use a model with a longer context"},
	Cancelled:        {409, 10, false, "start it again when it is wanted: cairn runs retry"},
	Unauthenticated:  {401, 6, false, "send `Authorization: Bearer cairn_…` with a key that `cairn keys create` made"},
	MethodNotAllowed: {405, 2, false, "use a method of the Allow header; /openapi.json describes the routes"},
	RateLimited:      {429, 5, true, "wait for the seconds that Retry-After tells, then send it again"},
	NotImplemented:   {501, 2, false, "/openapi.json describes what there is"},
	CommandRefused:   {403, 6, false, "use a program that is allowed, or a script of the skill"},
	CommandFailed:    {422, 4, false, "read stderr, and correct the arguments or the skill"},
	LimitExceeded:    {422, 5, false, "give it less to do"},
	UnknownOutcome:   {409, 4, false, "find out what took effect before you do it again; it is not repeated by itself"},
	Internal:         {500, 1, false, "run `cairn doctor`; if it finds nothing, this is a defect worth reporting"},
}
