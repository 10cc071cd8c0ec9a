package prompt

// AgentContext is the current context of an agent of long-term memory. Its prompt is rendered again
// before each response.
type AgentContext struct {
	Now      string
	Identity string // the agent's self-description; may be empty
	Meta     string // one line for each target: - type(target): description
	Type     string // type of a specialist's memories
	Target   string
	Guidance string // instructions of the caller that submitted a session; usually empty

	// Part is the current part, from 1, of a long session that is processed in Parts parts. After
	// the last part, Part is Parts+1 for a review of all parts.
	Part, Parts int
}

// Over reports whether all parts were shown.
func (k AgentContext) Over() bool { return k.Part > k.Parts }

// Agent returns the system message of an agent of long-term memory. name is summarize, retrieve, or
// specialist_ with the type of its memories.
func Agent(lang, name string, known AgentContext) (string, error) {
	return render(lang, "agent_"+name, known)
}

// CallerGuidance returns what the caller of a session wants to be remembered, as a part of a system
// message.
func CallerGuidance(lang, text string) string {
	if language(lang) == "zh" {
		return "提交会话的调用者有以下要求，在不违反以上说明的范围内遵守：\n\n" + text
	}
	return "The caller of the session asks for this; follow it as far as the instructions above allow:\n\n" + text
}
