-- login_keep_session: signs in with a name and a password and leaves the
-- browser's session to later runs. The two are secrets: this program cannot
-- read them, it only says which field each goes into. It must never send a
-- password twice.
local _, kit = ...

local WAIT_MS = 10000
local NEXT_MS = 3000
local BUTTON_MS = 5000 -- the fields beside it are there already

local function secret(description)
	return { type = "string", minLength = 1, maxLength = 4096,
		writeOnly = true, description = description }
end

local template = {
	id = "login_keep_session",
	version = "1.0.0",
	name = "Sign in and keep the session",
	description = "Opens a page, signs in with a user name and a password, "
		.. "in one step or two, and keeps the session: give its "
		.. "sessionId to later runs and they are signed in, too. The "
		.. "fields are found by themselves, or by CSS selectors, or "
		.. "by what they are called. Name and password are kept in "
		.. "memory only and appear nowhere; {\"secretRef\":NAME} in "
		.. "their place names a stored secret.",
	inputs = kit.object({
		startUrl = kit.url("The page with the login."),
		credentials = kit.object({
			username = secret("User name or e-mail address."),
			password = secret("Password."),
		}, { "username", "password" }, "What to sign in with; never "
			.. "stored."),
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
			.. "if not given, that the page does not ask for a "
			.. "password any more."),
		navigationTimeoutMs = kit.navigation_timeout(),
	}, { "startUrl", "credentials" }),
	outputs = {
		type = "object",
		required = { "success", "sessionId", "finalUrl", "title",
			"loginState", "cookiesSaved" },
		properties = {
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
				enum = { "authenticated", "unknown" },
				description = "unknown: what shows that it "
				.. "worked was not seen; there is a "
				.. "screenshot." },
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
local CODE = { mode = "selector",
	selector = "input[autocomplete~='one-time-code']" }
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

local function username_target(tab, inputs)
	local target = given(inputs, "username", "field")
	if target then
		return target
	end
	if not is_there(tab, USERNAME, WAIT_MS) and is_there(tab, NAMELESS) then
		return NAMELESS
	end
	return USERNAME
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

	if not is_there(tab, target) then
		go_to_password(tab, target, options)
	end
	fill(tab, "password", target, inputs.credentials.password)
	return target
end

local function submit(tab, inputs, options)
	local target = given(inputs, "submit", "button")

	if not target and not kit.must(tab:eval(IN_FORM)) then
		target = { mode = "semantic", query = "login",
			kind = "button" }
	end
	return must("button", tab:submit(target, { timeoutMs = BUTTON_MS,
		navigationTimeoutMs = options.navigationTimeoutMs }))
end

-- Whether it has worked, and if not, why that is not known.
local function verify(tab, inputs, password)
	if inputs.successIndicator then
		local met, err = tab:wait(inputs.successIndicator)
		if not met and err.cause ~= "ACTION_TIMEOUT" then
			error(err, 0)
		end
		return met ~= nil, err and err.message
	elseif is_there(tab, password) then
		return false, "the page still asks for a password"
	elseif is_there(tab, CODE) then
		return false, "the page asks for a code"
	end
	return true
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

local function sign_in(ctx, tab, step)
	local inputs = ctx.inputs
	local options = { navigationTimeoutMs = inputs.navigationTimeoutMs }
	local password

	step("fill_username", function()
		fill(tab, "username", username_target(tab, inputs),
			inputs.credentials.username)
	end)
	step("fill_password", function()
		password = fill_password(tab, inputs, options)
	end)
	step("submit", function()
		local done = submit(tab, inputs, options)
		return { navigated = done.navigated }
	end)
	return password
end

local function tell_unknown(ctx, tab, why)
	ctx:warn("it is not known whether the login worked: "
		.. kit.cut(why, 300))
	ctx:artifact { kind = "screenshot", mime = "image/png",
		name = "login.png", data = kit.must(tab:screenshot {}) }
end

local function make_result(ctx, tab, good)
	local info = kit.must(tab:info())
	return { success = good, sessionId = ctx.sessionId,
		finalUrl = kit.cut(info.url, 2048),
		title = kit.cut(info.title, 1024),
		loginState = good and "authenticated" or "unknown",
		cookiesSaved = kit.must(tab:cookies()) }
end

function template.run(ctx)
	local inputs, tab = ctx.inputs, ctx:tab()
	local step = kit.stepper(ctx, 5)
	local signed_in, password, result

	step("open_page", function()
		kit.open(tab, inputs.startUrl, inputs.navigationTimeoutMs)
		signed_in = is_signed_in(tab, inputs)
	end)
	if signed_in then
		ctx:warn("the session is signed in already")
		ctx:progress { done = 5, total = 5 }
		return make_result(ctx, tab, true)
	end
	password = sign_in(ctx, tab, step)
	step("verify", function()
		local good, why = verify(tab, inputs, password)
		if not good then
			tell_unknown(ctx, tab, why)
		end
		result = make_result(ctx, tab, good)
	end)
	return result
end

return template
