-- login_keep_session: signs in with a name and a password and leaves the
-- browser's session to later runs. The password is a secret, and so is a name
-- that is stored as one: this program cannot read them, it only says which field
-- each goes into. It must never send a password twice.
local _, kit = ...

local WAIT_MS = 10000
local SOON_MS = 1500
local NEXT_MS = 3000
local LATE_MS = 6000 -- for what comes late: an error, the members' page
local BUTTON_MS = 5000 -- the fields beside it are there already

-- What is said of it: writeOnly, or secretRef, which is a secret only if the
-- caller names a stored one.
local function credential(said, description)
	return { type = "string", minLength = 1, maxLength = 4096,
		[said] = true, description = description }
end

local template = {
	id = "login_keep_session",
	version = "1.0.0",
	name = "Sign in and keep the session",
	description = "Opens a page, signs in with a user name and a password, "
		.. "in one step or two, and keeps the session: give its "
		.. "sessionId to later runs and they are signed in, too. It "
		.. "says authenticated only where the page shows it. The "
		.. "fields are found by themselves, or by CSS selectors, or "
		.. "by what they are called. The password is kept in "
		.. "memory only and appears nowhere; {\"secretRef\":NAME} in "
		.. "place of it or of the name names a stored secret.",
	inputs = kit.object({
		startUrl = kit.url("The page with the login."),
		credentials = kit.object({
			username = credential("secretRef", "User name or "
				.. "e-mail address; not given, only a "
				.. "password is filled in."),
			password = credential("writeOnly", "Password; never "
				.. "stored."),
		}, { "password" }, "What to sign in with."),
		fields = kit.object({
			mode = { type = "string",
				enum = { "selector", "semantic" },
				description = "Which of the others count: "
				.. "selectors or queries." },
			usernameSelector = kit.text(1, 1024,
				"CSS selector of the field for the name."),
			passwordSelector = kit.text(1, 1024,
				"CSS selector of the field for the password."),
			submitSelector = kit.text(1, 1024,
				"CSS selector of what to click to sign in."),
			usernameQuery = kit.text(1, 256, "What the field for "
				.. "the name is called, in any language."),
			passwordQuery = kit.text(1, 256, "What the field for "
				.. "the password is called."),
			submitQuery = kit.text(1, 256, "What the button to "
				.. "sign in is called."),
		}, { "mode" }, "Where the fields are; what is not given is "
			.. "found by itself."),
		successIndicator = kit.condition("What shows that it worked; "
			.. "if not given, a new session cookie and the marks "
			.. "of a signed-in page, as a way to sign out."),
		dialogs = kit.dialogs(),
		device = kit.device(),
		consent = kit.consent_in(),
		navigationTimeoutMs = kit.navigation_timeout(),
	}, { "startUrl", "credentials" }),
	outputs = {
		type = "object",
		required = { "success", "sessionId", "finalUrl", "title",
			"loginState", "cookiesSaved" },
		properties = {
			dialogs = kit.dialogs_out(),
			success = { type = "boolean", description = "Whether "
				.. "loginState is authenticated." },
			sessionId = { type = "string", description = "The "
				.. "session that stays: give it to later "
				.. "runs." },
			finalUrl = { type = "string",
				description = "The page it ended on." },
			title = { type = "string",
				description = "Its title." },
			loginState = { type = "string",
				enum = { "authenticated", "needs_code",
					"unknown" },
				description = "needs_code: the page asks for "
				.. "one, see codeField. unknown: what shows "
				.. "that it worked was not seen; there is a "
				.. "screenshot." },
			codeField = { type = "object",
				required = { "name", "locator" },
				properties = {
					name = { type = "string",
						description = "What the "
						.. "page calls it." },
					locator = kit.locator("Where it is, for "
						.. "submit_and_verify."),
				}, description = "The field that asks for a "
					.. "code." },
			messages = kit.messages_out(),
			pageText = { type = "string", description = "How the "
				.. "page begins, where it is not known "
				.. "whether it worked." },
			httpStatus = kit.status_out(),
			consent = kit.consent_out(),
			cookiesSaved = { type = "integer",
				description = "Cookies that the final page "
				.. "has in the session." },
		},
	},
	limits = { maxUrls = 1, maxConcurrency = 1, maxTimeoutMs = 600000 },
	trustLevelSupport = { "local" },
	executionMode = "sync",
	supportsPartialSuccess = false,
	restartSafe = false,
	keepsSession = true,
	resources = "all",
	exampleInputs = {
		startUrl = "https://example.com/login",
		credentials = { username = "ada", password = "a secret" },
		fields = { mode = "semantic", usernameQuery = "e-mail",
			passwordQuery = "password", submitQuery = "sign in" },
		successIndicator = { type = "urlContains",
			value = "/account" },
	},
	errorCodes = { "TPL_LOGIN_FIELD_NOT_FOUND", "NAVIGATION_TIMEOUT",
		"TRUST_LEVEL_NOT_ALLOWED", "PAGE_CRASHED",
		"STEP_EXECUTION_FAILED", "INVALID_PARAMETER" },
}

local USERNAME = { mode = "semantic", query = "username", kind = "field" }
local PASSWORD = { mode = "semantic", query = "password", kind = "field" }
-- The text field of a form with a password, if it is not called anything.
local NAMELESS = { mode = "selector", selector = "form:has("
	.. "input[type=password]) input:is([type=text], [type=email], "
	.. "[type=tel], :not([type]))" }
-- Whether Enter in the password's field can send anything.
local IN_FORM = [[() => {
	const roots = [document];
	for (const root of roots) {
		const field = root.querySelector("input[type=password]");
		if (field)
			return field.form !== null;
		for (const el of root.querySelectorAll("*")) {
			if (el.shadowRoot)
				roots.push(el.shadowRoot);
		}
	}
	return true;
}]]

-- What the caller said of username, password or submit; nil if nothing.
local function given(inputs, part, kind)
	local fields = inputs.fields or {}
	local selector, query = fields[part .. "Selector"],
		fields[part .. "Query"]

	if fields.mode == "selector" and selector then
		return { mode = "selector", selector = selector }
	elseif fields.mode == "semantic" and query then
		return { mode = "semantic", query = query, kind = kind }
	end
	return nil
end

local function is_there(tab, target, ms)
	local found, err = tab:find(target, ms and { timeoutMs = ms })
	if err then
		error(err, 0)
	end
	return found and found.visible and found.enabled
end

local function not_found(part, message)
	error({ code = "TPL_LOGIN_FIELD_NOT_FOUND",
		message = "the " .. part .. " was not found: " .. message }, 0)
end

-- Errors of one of the fields, as those of this template.
local function must(part, value, err)
	if value == nil and err.code == "ELEMENT_NOT_FOUND" then
		not_found(part, err.message)
	end
	return kit.must(value, err)
end

local function fill(tab, part, target, value)
	must(part .. " field", tab:fill(target, value))
end

-- The field is waited for once, whatever it is found by.
local function fill_username(tab, inputs)
	local target = given(inputs, "username", "field")
	local value = inputs.credentials.username

	if target then
		fill(tab, "username", target, value)
		return
	end
	if not is_there(tab, USERNAME, SOON_MS) and is_there(tab, NAMELESS) then
		target = NAMELESS
	end
	local done, err = tab:fill(target or USERNAME, value,
		{ timeoutMs = WAIT_MS - SOON_MS })
	if not done and err.code == "ELEMENT_NOT_FOUND"
			and is_there(tab, NAMELESS) then
		done, err = tab:fill(NAMELESS, value)
	end
	must("username field", done, err)
end

-- The second of two steps: on, until there is a field for the password.
local function go_to_password(tab, target, options)
	kit.must(tab:submit(nil, options))
	if is_there(tab, target, NEXT_MS) then
		return
	end
	local on = { mode = "semantic", query = "next", kind = "button" }
	if is_there(tab, on) then
		kit.must(tab:click(on, options))
	end
end

local function fill_password(tab, inputs, options)
	local target = given(inputs, "password", "field") or PASSWORD

	if inputs.credentials.username and not is_there(tab, target) then
		go_to_password(tab, target, options)
	end
	fill(tab, "password", target, inputs.credentials.password)
end

local function submit(tab, inputs, options)
	local target = given(inputs, "submit", "button")

	if not target and not kit.must(tab:look(IN_FORM)) then
		target = { mode = "semantic", query = "login",
			kind = "button" }
	end
	return must("button", tab:submit(target, { timeoutMs = BUTTON_MS,
		navigationTimeoutMs = options.navigationTimeoutMs }))
end

-- Whether what the caller named as success is there; nil if it named nothing.
local function is_met(tab, condition)
	if not condition then
		return nil
	end
	local met, err = tab:wait(condition)
	if not met and err.cause ~= "ACTION_TIMEOUT" then
		error(err, 0)
	elseif condition.type == "stable" then
		return nil
	end
	return met ~= nil, err and err.message
end

-- Whether the page shows somebody who is signed in, as it did not before.
local function is_marked(now, before)
	local m, was = now.marks, before.marks

	return m.logout == "seen" or (m.logout ~= "" and was.logout == "")
		or (m.as and not was.as) or (m.account and not was.account)
end

-- A page that asks for a code, and not for the password it has.
local function asks_for_code(now, before, marked)
	if not now.code or (now.password and before.code) then
		return false
	end
	return now.code.rank == 2 or not (marked or now.password)
end

-- Why it is not known, in the page's own words where there are some.
local function reason(now, before, marked, changed)
	local parts = {}
	local status = kit.bad_status(now, before)

	if status then
		parts[1] = "the page answered with HTTP " .. status
	end
	if #now.messages > 0 then
		parts[#parts + 1] = "the page says: "
			.. table.concat(now.messages, "; ")
	end
	if now.password then
		parts[#parts + 1] = "the page still asks for a password"
	elseif not marked then
		parts[#parts + 1] = "nothing on the page shows that somebody "
			.. "is signed in"
	elseif not changed then
		parts[#parts + 1] = "the site set no cookie of a session"
	end
	return table.concat(parts, "; ")
end

-- The state of the login, why it is not better, and what the page shows.
local function verify(tab, inputs, before)
	local met, why = is_met(tab, inputs.successIndicator)
	local now = kit.signs(tab, { login = true, known = before.messages,
		document = before.document,
		timeoutMs = met == nil and LATE_MS or nil })
	local changed = kit.must(tab:cookies()).changed > 0
		or (now.store ~= 0 and now.store ~= before.store)
	local marked = is_marked(now, before)

	if met then
		return "authenticated", nil, now
	elseif asks_for_code(now, before, marked) then
		return "needs_code", "the page asks for a code in its field "
			.. now.code.name .. ": fill it in by submit_and_verify, "
			.. "in this session", now
	elseif met == nil and marked and changed
			and not kit.bad_status(now, before)
			and (not now.password or now.marks.logout == "seen") then
		return "authenticated", nil, now
	end
	local more = reason(now, before, marked, changed)
	return "unknown", why and why .. "; " .. more or more, now
end

-- A session that is borrowed may be signed in already: what shows that it
-- worked is there, and nothing to fill in.
local function is_signed_in(tab, inputs)
	local c = inputs.successIndicator
	if not c or c.type == "stable" or not tab:wait { type = c.type,
			value = c.value, timeoutMs = 100 } then
		return false
	end
	return not is_there(tab, USERNAME) and not is_there(tab, PASSWORD)
end

local function sign_in(ctx, tab, step, known)
	local inputs = ctx.inputs
	local options = { navigationTimeoutMs = inputs.navigationTimeoutMs }
	local before

	step("fill_username", function()
		if inputs.credentials.username then
			fill_username(tab, inputs)
		end
	end)
	step("fill_password", function()
		fill_password(tab, inputs, options)
	end)
	step("submit", function()
		before = kit.signs(tab, {})
		before.messages = known
		kit.must(tab:cookies())
		local done = submit(tab, inputs, options)
		return { navigated = done.navigated }
	end)
	return before
end

local function tell_unknown(ctx, tab, state, why)
	ctx:warn((state == "needs_code" and "not signed in yet: "
		or "it is not known whether the login worked: ")
		.. kit.cut(why, 600))
	ctx:artifact { kind = "screenshot", mime = "image/png",
		name = "login.png", data = kit.must(tab:screenshot {}) }
end

local function make_result(ctx, tab, state)
	local info = kit.must(tab:info())
	return { success = state == "authenticated", sessionId = ctx.sessionId,
		finalUrl = kit.cut(info.url, 2048),
		title = kit.cut(info.title, 1024), loginState = state,
		cookiesSaved = kit.must(tab:cookies()).count }
end

-- What the page shows where the login did not come to its end.
local function add_signs(result, now, before)
	if #now.messages > 0 then
		result.messages = now.messages
	end
	if result.loginState == "needs_code" then
		result.codeField = { name = now.code.name,
			locator = now.code.locator }
	elseif now.words ~= "" then
		result.pageText = now.words
	end
	result.httpStatus = kit.bad_status(now, before)
end

function template.run(ctx)
	local inputs, tab = ctx.inputs, ctx:tab()
	local step = kit.stepper(ctx, 5, tab)
	local signed_in, known, result, consent

	step("open_page", function()
		kit.open(tab, inputs.startUrl, inputs.navigationTimeoutMs)
		consent = kit.consent(ctx, tab)
		signed_in = is_signed_in(tab, inputs)
		known = kit.signs(tab, {}).messages
	end)
	if signed_in then
		ctx:warn("the session is signed in already")
		ctx:progress { done = 5, total = 5 }
		result = make_result(ctx, tab, "authenticated")
		result.consent = consent
		return result
	end
	local before = sign_in(ctx, tab, step, known)
	step("verify", function()
		local state, why, now = verify(tab, inputs, before)
		result = make_result(ctx, tab, state)
		if state ~= "authenticated" then
			add_signs(result, now, before)
			tell_unknown(ctx, tab, state, why)
		end
		result.consent = consent
		return { loginState = state }, result.success
	end)
	return result
end

return template
