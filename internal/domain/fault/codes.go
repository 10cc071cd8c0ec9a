package fault

// Code names a kind of failure. Its spelling is part of the API: HTTP responses, tool results and
// `-o json` contain it.
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
	OverrideRequired Code = "override_required" // an approval does not name the blocking findings
	UnknownTool      Code = "unknown_tool"
	OutOfScope       Code = "out_of_scope"
	PersonRequired   Code = "person_required" // the key of a gateway without the user for whom it acts
	OpReused         Code = "op_reused"
	Unavailable      Code = "unavailable"
	Erasing          Code = "erasing"
	StaleIncarnation Code = "stale_incarnation" // a workflow that started before a restore from a backup
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
	RequestTimeout   Code = "request_timeout" // the body of a request stopped arriving
	NotImplemented   Code = "not_implemented"
	CommandRefused   Code = "command_refused" // the command was not started
	CommandFailed    Code = "command_failed"
	LimitExceeded    Code = "limit_exceeded"
	UnknownOutcome   Code = "unknown_outcome" // the command was started and interrupted
	Internal         Code = "internal"
)

// Row describes what a code means to each kind of caller.
type Row struct {
	HTTP      int    // status of an HTTP response
	Exit      int    // exit code of the command line, 1–125
	Retryable bool   // whether the same request can succeed later
	Hint      string // default next step, used when New receives an empty hint
}

// Table has one row for each code. Every hint is an imperative. A command in backquotes exists.
var Table = map[Code]Row{
	InvalidArgument: {400, 2, false, "correct the argument that the message names, then send the request again"},
	NotFound:        {404, 3, false, "list the existing items, then use one of their names"},
	AlreadyExists:   {409, 4, false, "choose another name, or update the existing item"},
	VersionConflict: {409, 4, false, "read the current version, then apply the change to it"},
	NoMatch:         {422, 4, false, "read the current text, then quote it exactly"},
	AmbiguousMatch:  {422, 4, false, "quote more of the surrounding text so that it matches once"},
	TooLarge:        {413, 2, false, "send a smaller request"},
	QuotaExceeded: {429, 5, false, "wait until the limit resets, or raise it: " +
		"`cairn settings set limits.skill_writes_hour=60`"},
	BlockedContent:   {422, 6, false, "remove the lines that the message names"},
	SecretDetected:   {422, 6, false, "replace the secret with a placeholder such as {{secret:NAME}}"},
	Protected:        {403, 6, false, "unpin the skill first with `cairn skills unpin SKILL`"},
	NotManaged:       {403, 6, false, "ask the owner to make the change, or propose it for approval"},
	ReadRequired:     {412, 4, false, "view the item first, then change it"},
	DuplicateSuspect: {409, 4, false, "update the item that the message names, or choose content that differs"},
	OverrideRequired: {422, 6, false, "read the item with `cairn inbox show ITEM`, then approve it with an override"},
	UnknownTool:      {404, 3, false, "use one of the offered tools"},
	OutOfScope: {
		403,
		6,
		false,
		"use a key with the required scope; create one with `cairn keys create --name laptop --scopes admin`",
	},
	PersonRequired: {400, 2, false, "send the ID of the user in the header X-Cairn-Person"},
	OpReused: {409, 4, false,
		"use a new operation ID, or start a new generation of the run with `cairn runs retry --fresh RUN`"},
	Unavailable: {503, 7, true, "try again later; run `cairn doctor` to check the dependencies"},
	Erasing:     {410, 6, false, "use another workspace; this one is being erased"},
	StaleIncarnation: {410, 6, false, "send the request again; after a restore from a backup, run " +
		"`cairn restore accept`"},
	TurnedOff: {409, 6, false, "turn the feature on, for example `cairn settings set reflection=true`"},
	Misconfigured: {500, 8, false, "correct the configuration: `cairn config` prints it, and " +
		"`cairn doctor` checks the dependencies"},
	ModelAuth: {502, 9, false, "check OPENAI_API_KEY and the permissions of that key at the model endpoint"},
	ModelRejected: {502, 9, false, "check CAIRN_MODEL and OPENAI_BASE_URL; " +
		"the log of the worker has the text under the error ID"},
	ModelRefused:     {422, 9, false, "change the input, or use another model"},
	ModelInvalid:     {502, 9, false, "use a stronger model; the reply did not match the schema, even after repairs"},
	ModelContext:     {413, 9, false, "shorten the input, or use a model with a longer context"},
	Cancelled:        {409, 10, false, "start it again with `cairn runs retry RUN`"},
	Unauthenticated:  {401, 6, false, "send `Authorization: Bearer cairn_…` with a key from `cairn keys create`"},
	MethodNotAllowed: {405, 2, false, "use a method from the Allow header; GET /openapi.json describes the routes"},
	RateLimited:      {429, 5, true, "wait for the seconds in the Retry-After header, then send the request again"},
	RequestTimeout:   {408, 7, true, "send the whole body without a pause"},
	NotImplemented:   {501, 2, false, "use a supported route; GET /openapi.json describes all routes"},
	CommandRefused:   {403, 6, false, "use an allowed program, or a script of the skill"},
	CommandFailed:    {422, 4, false, "read stderr, then correct the arguments or the skill"},
	LimitExceeded:    {422, 5, false, "split the work into smaller commands"},
	UnknownOutcome:   {409, 4, false, "check what took effect, then run it again if needed; Cairn does not repeat it"},
	Internal:         {500, 1, false, "run `cairn doctor`; if every check passes, report the error as a bug"},
}
