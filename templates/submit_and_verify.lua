-- submit_and_verify: fills in a form, sends it, and says whether the page shows
-- that it worked. It must never send twice: nothing is tried again once a
-- field was filled.
local _, kit = ...

local MAX_FIELDS = 20
local STAY_MS = 4000 -- for a page that stays to say what it makes of it
local info_out, content_out = kit.extract_out()

local field = kit.object({
	name = kit.text(1, 256, "What the field is called in the result; without "
		.. "a locator also what it is found by: its label, placeholder "
		.. "or name."),
	value = { type = { "string", "number", "boolean", "array" },
		maxLength = 10000, minItems = 1, maxItems = 50,
		items = { type = "string", maxLength = 1000 },
		description = "What to fill in: a text, the label or value of "
			.. "an option or of a choice of a group, or a list of "
			.. "them, a date as 2026-11-30, true or false for a "
			.. "box to tick." },
	file = kit.object({
		name = kit.text(1, 255, "Its name, as cv.pdf."),
		mediaType = kit.text(1, 127, "As text/plain."),
		text = { type = "string", maxLength = 200000,
			description = "What is in it." },
		base64 = { type = "string", maxLength = 700000,
			description = "Likewise, in place of text: up to "
				.. "512 KiB." },
	}, { "name" }, "A file to give to the page, in place of value."),
	secret = { type = "string", minLength = 1, maxLength = 4096,
		writeOnly = true, description = "A text to fill in that "
			.. "nobody may see, in place of value: it is not "
			.. "stored and appears in nothing that is." },
	locator = kit.locator("Where the field is."),
}, { "name" }, "One field of the form, with a value or a secret.")
field.oneOf = { { required = { "value" } }, { required = { "secret" } },
	{ required = { "file" } } }
field.properties.file.oneOf = { { required = { "text" } },
	{ required = { "base64" } } }

local inputs = kit.object({
	startUrl = kit.url("The page with the form."),
	fields = { type = "array", minItems = 1, maxItems = MAX_FIELDS,
		items = field,
		description = "The fields, filled in this order. None for "
			.. "what is only a button or a link: submit." },
	submit = kit.locator("What to click to send the form; if not "
		.. "given, the form is sent as by Enter in its last "
		.. "field."),
	successIndicator = kit.condition("What shows that it worked; "
		.. "if not given, it is enough that the form was "
		.. "sent."),
	extract = kit.extract(),
	settle = kit.settle(),
	dialogs = kit.dialogs(),
	device = kit.device(),
	consent = kit.consent_in(),
	navigationTimeoutMs = kit.navigation_timeout(),
}, { "startUrl" })
inputs.anyOf = { { required = { "fields" } }, { required = { "submit" } } }

local template = {
	id = "submit_and_verify",
	version = "1.0.0",
	name = "Fill in a form and verify",
	description = "Opens a page, fills in up to 20 fields, sends the form "
		.. "once, and checks by a condition whether it worked. Every "
		.. "field can be named as a person would name it. To sign "
		.. "in, login_keep_session is better.",
	inputs = inputs,
	outputs = {
		type = "object",
		required = { "success", "finalPage", "submittedFields",
			"indicatorMatched", "summary" },
		properties = {
			dialogs = kit.dialogs_out(),
			success = { type = "boolean", description = "Whether "
				.. "the form was sent, the page shows no error "
				.. "and, if there is a condition, it was "
				.. "met." },
			messages = kit.messages_out(),
			httpStatus = kit.status_out(),
			consent = kit.consent_out(),
			finalPage = kit.page_out("The page it ended on."),
			submittedFields = { type = "array",
				items = { type = "string" },
				description = "Names of the fields that were "
					.. "filled in." },
			nextPressed = { type = "array",
				items = { type = "string" },
				description = "Buttons that were pressed to "
					.. "come to further pages of the "
					.. "form." },
			indicatorMatched = kit.nullable("boolean",
				"Whether the condition was met; null if there "
				.. "is none."),
			summary = { type = "object",
				required = { "total", "succeeded", "failed" },
				properties = {
					total = { type = "integer",
						description = "1, and 1 more "
						.. "if there is something to "
						.. "verify or an error." },
					succeeded = { type = "integer",
						description = "How many of "
						.. "them were done." },
					failed = { type = "integer",
						description = "How many were "
						.. "not." },
				}, description = "Sending and verifying." },
			pageInfo = info_out,
			content = content_out,
			pending = kit.pending_out(),
			error = kit.error_out(),
		},
	},
	limits = { maxUrls = 1, maxConcurrency = 1, maxTimeoutMs = 600000 },
	trustLevelSupport = { "local", "remote" },
	executionMode = "sync",
	supportsPartialSuccess = true,
	partialSuccessThreshold = 0.5,
	restartSafe = false,
	resources = "all",
	exampleInputs = {
		startUrl = "https://example.com/contact",
		fields = {
			{ name = "Your name", value = "Ada" },
			{ name = "country", value = "Finland", locator = {
				mode = "selector",
				selector = "select[name=country]" } },
			{ name = "I agree", value = true },
		},
		submit = { mode = "semantic", query = "send" },
		successIndicator = { type = "textIncludes",
			value = "Thank you" },
	},
	errorCodes = { "NAVIGATION_TIMEOUT", "ELEMENT_NOT_FOUND",
		"PAGE_CRASHED", "STEP_EXECUTION_FAILED", "INVALID_PARAMETER" },
}

-- An error that says which field it is about.
local function about(err, name)
	return { code = err.code, cause = err.cause, retryable = err.retryable,
		message = "field " .. name .. ": " .. err.message }
end

-- ---- forms of several pages ----

local MAX_PAGES = 10
local NEXT = { "next", "continue" }
local APPEAR_MS = 2000 -- for what a choice on this page brings

-- The button to the next page, unless it is the one that sends.
local function find_next(tab, submit)
	local sends = submit and tab:find(submit)
	for _, query in ipairs(NEXT) do
		local target = kit.target(nil, "button", query)
		local found = tab:find(target)
		if found and found.visible and found.enabled
				and found.role == "button"
				and found.score >= 0.65
				and not (sends and sends.visible
				and sends.name == found.name) then
			return target, found.name
		end
	end
	return nil
end

local function is_there(tab, target)
	local found = tab:find(target)
	return found and (found.visible or target.kind == "any"
		or tab:find(target, { operable = true }))
end

local TEXT = "() => document.body.innerText.slice(0, 20000)"
local CHANGED = "async (was) => { for (let n = 0; n < 60; n++) { "
	.. "if (document.body.innerText.slice(0, 20000) !== was) return true; "
	.. "await new Promise((done) => setTimeout(done, 50)); } return false }"

-- Whether the page has gone on.
local function press_next(tab, on, name, before)
	local was = kit.must(tab:look(TEXT))
	kit.must(tab:click(on))
	local changed = kit.must(tab:look(CHANGED, was))
	local now = kit.signs(tab, { known = before.messages })
	if #now.messages > 0 then
		error({ code = "STEP_EXECUTION_FAILED", cause = "FORM_INVALID",
			message = "behind " .. name .. " the page says: "
			.. table.concat(now.messages, "; ") }, 0)
	end
	return changed
end

-- Presses next until what is meant is there, as long as there is a next.
local function go_on_to(ctx, tab, target, result, before)
	local submit = ctx.inputs.submit
		and kit.target(ctx.inputs.submit, "button")

	for _ = 1, MAX_PAGES do
		if is_there(tab, target) then
			return
		end
		local on, name = find_next(tab, submit)
		if not on or tab:find(target, { operable = true,
				timeoutMs = APPEAR_MS }) then
			return
		end
		local changed
		ctx:step("next_page", function()
			changed = press_next(tab, on, name, before)
			return { pressed = name }
		end)
		if not changed then
			return
		end
		result.nextPressed = result.nextPressed or ctx.json.array {}
		result.nextPressed[#result.nextPressed + 1] = name
	end
end

local function fill(ctx, tab, entry, result, before)
	-- The field of files is often hidden behind what is called so.
	local target = kit.target(entry.locator, entry.file and "any" or "field",
		entry.name)
	local value = entry.value
	if value == nil then
		value = entry.secret or entry.file
	end
	go_on_to(ctx, tab, target, result, before)
	local done, err = tab:fill(target, value)

	if not done then
		error(about(err, entry.name), 0)
	end
	for _, text in ipairs(done.warnings) do
		ctx:warn("field " .. entry.name .. ": " .. text)
	end
end

-- Whether the condition was met; an error if it was not.
local function wait_for(tab, condition)
	if not condition then
		return nil
	end
	local met, err = tab:wait(condition)
	if not met and err.cause ~= "ACTION_TIMEOUT" then
		error(err, 0)
	end
	return met ~= nil, err
end

-- Something of the page that only a caller who knows it can name.
local function is_evidence(condition)
	return condition and (condition.type == "selector"
		or condition.type == "textIncludes")
end

-- Why it did not work, as far as the page says so: by its status or by its
-- messages, unless what the caller knows to show success is there.
local function refusal(ctx, result, now, before)
	local status = kit.bad_status(now, before)
	local words = table.concat(now.messages, "; ")

	result.httpStatus = status
	if #now.messages > 0 then
		result.messages = now.messages
	end
	if status then
		words = words ~= "" and words or now.words
		return { code = "STEP_EXECUTION_FAILED", message = "the page "
			.. "answered with HTTP " .. status
			.. (words ~= "" and ": " .. words or "") }
	elseif words == "" then
		return nil
	elseif result.indicatorMatched == true
			and is_evidence(ctx.inputs.successIndicator) then
		ctx:warn("the condition was met, but the page says: "
			.. kit.cut(words, 300))
		return nil
	end
	return { code = "STEP_EXECUTION_FAILED", cause = "FORM_INVALID",
		message = "the page says: " .. words }
end

local function verify(ctx, tab, result, before, stays)
	local condition = ctx.inputs.successIndicator
	local matched, err = wait_for(tab, condition)

	result.indicatorMatched = matched
	if matched == nil then
		result.indicatorMatched = ctx.null
	end
	local now = kit.signs(tab, { document = before.document,
		known = before.messages,
		timeoutMs = not condition and stays and STAY_MS or nil })
	local why = refusal(ctx, result, now, before) or err
	if why then
		ctx:warn("not verified: " .. kit.cut(why.message, 400))
		ctx:artifact { kind = "screenshot", mime = "image/png",
			name = "page.png",
			data = kit.must(tab:screenshot {}) }
		result.success, result.error = false, kit.error(why)
	elseif not condition and stays and not now.good then
		ctx:warn("the page stayed after the form was sent: "
			.. "give a successIndicator to be sure")
	end
	return { matched = matched }
end

function template.run(ctx)
	local inputs, tab = ctx.inputs, ctx:tab()
	local fields = inputs.fields or {}
	local step = kit.stepper(ctx, #fields + 3, tab)
	local result = { success = true, submittedFields = ctx.json.array {} }
	local before, stays

	step("open_page", function()
		kit.open(tab, inputs.startUrl, inputs.navigationTimeoutMs)
		result.consent = kit.consent(ctx, tab)
		before = kit.signs(tab, {})
	end)
	for i, entry in ipairs(fields) do
		step("fill_field", function()
			fill(ctx, tab, entry, result, before)
			result.submittedFields[i] = entry.name
			return { field = entry.name }
		end)
	end
	step("submit", function()
		local target = inputs.submit
			and kit.target(inputs.submit, "button")
		if target then
			go_on_to(ctx, tab, target, result, before)
		end
		local done = kit.must(tab:submit(target))
		stays = not done.navigated and not done.newTab
		return { navigated = done.navigated }
	end)
	step("verify", function()
		local meta = verify(ctx, tab, result, before, stays)
		result.finalPage, result.pageInfo, result.content,
			result.pending = kit.finish(ctx, tab, inputs)
		return meta, result.success
	end)
	local verified = result.indicatorMatched ~= ctx.null
	local total = (verified or not result.success) and 2 or 1
	local good = result.success and total or 1
	result.summary = { total = total, succeeded = good,
		failed = total - good }
	return result
end

return template
