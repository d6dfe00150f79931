-- search_extract: types a query into a page's search, waits for the results,
-- opens one of them if asked to, and extracts the page it ends on.
local _, kit = ...

local info_out, content_out = kit.extract_out()

local template = {
	id = "search_extract",
	version = "1.0.0",
	name = "Search and extract",
	description = "Opens a page, types a query into its search field, sends "
		.. "it, waits for the results, opens one of them if asked to, "
		.. "and extracts the page it ends on. For a site whose search "
		.. "has an address with the query in it, batch_extract_pages "
		.. "with that address is faster.",
	inputs = kit.object({
		startUrl = kit.url("The page with the search."),
		query = kit.text(1, 1000, "What to search for."),
		searchField = kit.locator("The field to type into; if not "
			.. "given, the page's search is found by itself."),
		submit = kit.locator("What to click to send the query; if not "
			.. "given, Enter is pressed."),
		waitForResults = kit.condition("When the results are there; if "
			.. "not given, when the page keeps still."),
		openResult = kit.locator("The result to open; if not given, "
			.. "the page of results is extracted."),
		extract = kit.extract(),
		settle = kit.settle(),
		dialogs = kit.dialogs(),
		device = kit.device(),
		consent = kit.consent_in(),
		navigationTimeoutMs = kit.navigation_timeout(),
	}, { "startUrl", "query" }),
	outputs = {
		type = "object",
		required = { "success", "finalPage", "query", "resultOpened" },
		properties = {
			dialogs = kit.dialogs_out(),
			success = { type = "boolean",
				description = "Whether it got to the end." },
			finalPage = kit.page_out("The page it ended on."),
			query = { type = "string",
				description = "What was searched for." },
			consent = kit.consent_out(),
			resultOpened = { type = "boolean",
				description = "Whether a result was opened." },
			pageInfo = info_out,
			content = content_out,
			pending = kit.pending_out(),
		},
	},
	limits = { maxUrls = 1, maxConcurrency = 1, maxTimeoutMs = 600000 },
	trustLevelSupport = { "local", "remote" },
	executionMode = "sync",
	supportsPartialSuccess = false,
	restartSafe = true,
	resources = "all",
	exampleInputs = {
		startUrl = "https://example.com/",
		query = "harbour",
		searchField = { mode = "semantic", query = "search" },
		waitForResults = { type = "selector", value = "ol li a",
			timeoutMs = 10000 },
		openResult = { mode = "selector", selector = "ol li a" },
		extract = { pageInfo = false, content = true },
	},
	errorCodes = { "NAVIGATION_TIMEOUT", "ELEMENT_NOT_FOUND",
		"PAGE_CRASHED", "STEP_EXECUTION_FAILED", "INVALID_PARAMETER" },
}

local function wait_for_results(tab, condition)
	if not condition then
		return
	end
	local met, err = tab:wait(condition)
	if not met and err.cause == "ACTION_TIMEOUT" then
		err = { code = "NAVIGATION_TIMEOUT",
			message = "the results are not ready: " .. err.message }
	end
	kit.must(met, err)
end

-- Without a fragment that names a place of the page.
local function document_of(url)
	return (url:gsub("#[^/!].*$", ""):gsub("#$", ""))
end

local function open_result(ctx, tab, locator)
	local before = document_of(kit.must(tab:info()).url)
	local done = kit.must(tab:click(kit.target(locator, "link")))
	local opened = done.navigated or done.newTab
		or document_of(kit.must(tab:info()).url) ~= before

	if not opened then
		local what = done.element or {}
		error({ code = "STEP_EXECUTION_FAILED",
			message = "clicking the " .. (what.role or "element")
			.. " \"" .. kit.cut(what.name or "", 120) .. "\""
			.. (what.href and " (" .. kit.cut(what.href, 300) .. ")"
			or "") .. " opened no page: name another result" }, 0)
	end
	return true
end

-- A search behind a button is opened before it can be typed into.
local function open_search(tab, target)
	if tab:find(target, { operable = true }) then
		return
	end
	local icon = kit.target(nil, "button", "search")
	local found = tab:find(icon)
	if found and found.visible and found.enabled then
		kit.must(tab:click(icon))
	end
end

function template.run(ctx)
	local inputs, tab = ctx.inputs, ctx:tab()
	local step = kit.stepper(ctx, 5, tab)
	local result = { success = true, query = inputs.query,
		resultOpened = false }

	step("open_page", function()
		kit.open(tab, inputs.startUrl, inputs.navigationTimeoutMs)
		result.consent = kit.consent(ctx, tab)
	end)
	step("search", function()
		local target = kit.target(inputs.searchField, "field", "search")
		open_search(tab, target)
		kit.must(tab:fill(target, inputs.query, { free = true }))
		kit.must(tab:submit(inputs.submit
			and kit.target(inputs.submit, "button")))
	end)
	step("wait_for_results", function()
		wait_for_results(tab, inputs.waitForResults)
	end)
	step("open_result", function()
		if inputs.openResult then
			result.resultOpened = open_result(ctx, tab,
				inputs.openResult)
		end
		return { opened = result.resultOpened }
	end)
	step("extract", function()
		result.finalPage, result.pageInfo, result.content,
			result.pending = kit.finish(ctx, tab, inputs)
	end)
	return result
end

return template
