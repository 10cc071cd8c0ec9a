package transcript

import "strings"

// RoleHint lists the spellings of roles.
const RoleHint = "use one of user, assistant, tool, system (also developer, function, human, agent, ai, bot, 用户, " +
	"助手, 工具, 系统)"

// roles maps every accepted spelling of a role, in lower case.
var roles = map[string]Role{
	"user": User, "human": User, "用户": User,
	"assistant": Assistant, "agent": Assistant, "ai": Assistant, "bot": Assistant, "model": Assistant, "助手": Assistant,
	"tool": Tool, "function": Tool, "工具": Tool,
	"system": System, "developer": System, "系统": System,
}

// ParseRole returns the role of a spelling. Case and surrounding blanks are ignored.
func ParseRole(text string) (role Role, known bool) {
	role, known = roles[strings.ToLower(strings.TrimSpace(text))]
	return role, known
}
