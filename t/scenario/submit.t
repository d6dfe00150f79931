#!/usr/bin/perl
# submit_and_verify with the real programs and the real browser: forms with
# every kind of field, forms that validate by script, forms that stay where
# they are; and that nothing is ever sent twice.
use strict;
use warnings;
use utf8;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use JSON::PP ();
use Test::More;

binmode Test::More->builder->$_, ':utf8' for qw(output failure_output);
my $json = JSON::PP->new->utf8->canonical;
my ($true, $false) = (JSON::PP::true, JSON::PP::false);
my $site = BrowserTask::Scenario::Site->new;
my $i = BrowserTask::Harness->new->start;
my $c = client($i);

sub named { return { mode => 'semantic', query => $_[0] } }
sub css { return { mode => 'selector', selector => $_[0] } }

# fields: name, value, and perhaps a locator
sub form {
	my ($path, $fields, %more) = @_;
	my $r = task($c, 'submit_and_verify', {
		startUrl => $site->url($path),
		fields => [ map { { name => $_->[0], value => $_->[1],
			$_->[2] ? (locator => $_->[2]) : () } } @$fields ],
		%more });
	is($r->{output}{task_type}, 'submit_and_verify', "$path: has ended")
	    or diag explain $r;
	result_fits($c, $r) if $r->{result};
	return $r;
}

# What the echo page got, as it tells it.
sub got {
	my ($r) = @_;
	my $row = artifact_of($r, 'extraction') or return {};
	my $all = $json->decode(artifact($c, $row->{artifact_id}));
	my $text = join "\n", map { $_->{text} // () }
	    @{ $all->{content}{sections} };
	return $text;
}

my @order = ([ 'Your name', 'Ada Löv & <Co>' ], [ 'E-mail', 'a@example.org' ],
	[ 'How many', 3 ], [ 'Delivery', '2026-12-24' ], [ 'Colour', 'Green' ],
	[ 'A gift', $true ], [ 'Remarks', "first\nsecond" ],
	[ 'terms', $true, named('I agree to the terms') ]);

subtest 'every kind of field' => sub {
	$site->reset;
	my $r = form('/try/form', \@order, submit => named('Order now'),
		successIndicator => { type => 'textIncludes',
			value => 'Thank you' });
	my $res = $r->{result};

	is($r->{status}, 'succeeded', 'succeeds') or diag explain $r->{error};
	ok($res->{success}, 'is successful');
	ok($res->{indicatorMatched}, 'was verified');
	is_deeply($res->{submittedFields}, [ map { $_->[0] } @order ],
		'names what was filled in');
	is_deeply($r->{progress}, { doneSteps => 11, totalSteps => 11 },
		'progress: the fields and three');
	is($res->{finalPage}{url}, $site->url('/echo'), 'where it ended');
	is($res->{finalPage}{title}, 'Thank you', 'and its title');
	my $text = got($r);
	like($text, qr/\b$_\b/, "has sent $_") for 'name', '3', '2026-12-24',
	    'colour', 'gift', 'yes', 'a\@example\.org', 'first';
	like($text, qr/Ada Löv & <Co>/, 'as it was given');
	like($text, qr/colour\s*g\b/, 'the value of the line with that label');
	is({ $site->fetched }->{'/echo'}, 1, 'once');
};

subtest 'a form that is not right' => sub {
	$site->reset;
	my $r = form('/try/form', [ @order[ 0 .. 5 ] ]);

	like("@{ $r->{warnings} }", qr/the page stayed/,
		'a page that stays is warned of');
	ok(!{ $site->fetched }->{'/echo'}, 'nothing was sent');
	$r = form('/try/form', [ @order[ 0 .. 5 ] ], submit => named('Order now'),
		successIndicator => { type => 'urlContains', value => '/echo',
			timeoutMs => 500 });
	is($r->{status}, 'partial_success', 'sent, but not verified')
	    or diag explain $r->{error};
	ok(!$r->{result}{success}, 'no success');
	ok(!$r->{result}{indicatorMatched}, 'not verified');
	is($r->{result}{error}{cause}, 'ACTION_TIMEOUT', 'with an error');
	like($json->encode($r->{result}{content}), qr/look at terms again/,
		'and what the page says about it');
	ok(artifact_of($r, 'screenshot'), 'and how it looks');
	is_deeply($r->{result}{summary},
		{ total => 2, succeeded => 1, failed => 1 }, 'one of two');
	ok(!{ $site->fetched }->{'/echo'}, 'nothing was sent');
};

subtest 'other forms' => sub {
	my $r = form('/try/form-zh', [ [ '姓名', '王小明' ],
		[ '手机号码', '13800000000' ], [ '城市', '上海' ],
		[ '留言', '你好' ] ], submit => named('提交'));
	is($r->{status}, 'succeeded', '联系我们') or diag explain $r->{error};
	is($r->{result}{indicatorMatched}, undef, 'nothing to verify');
	like(got($r), qr/王小明.*13800000000.*上海.*你好/s, 'what was sent');

	$r = form('/try/form-script', [ [ 'message', 'hello there' ] ],
		submit => named('send'), successIndicator => {
			type => 'selector', value => '#status:not(:empty)' });
	ok($r->{result}{success}, 'a form that is built late and stays')
	    or diag explain $r;
	is($r->{result}{finalPage}{url}, $site->url('/try/form-script'),
		'where it is');
	like($json->encode($r->{result}{content}), qr/message was sent/,
		'and says so');
};

subtest 'a secret' => sub {
	my $secret = join '', map { ('a' .. 'z')[ rand 26 ] } 1 .. 24;
	my $r = task($c, 'submit_and_verify', {
		startUrl => $site->url('/try/form-script'),
		fields => [ { name => 'message', secret => $secret } ],
		submit => named('send'), successIndicator => {
			type => 'textIncludes', value => 'was sent' } });
	ok($r->{result}{success}, 'is filled in') or diag explain $r;
	result_fits($c, $r);
	$r = task($c, 'submit_and_verify', {
		startUrl => $site->url('/try/form'),
		fields => [ (map { { name => $_->[0], value => $_->[1],
			$_->[2] ? (locator => $_->[2]) : () } }
			@order[ 0 .. 4, 7 ]),
			{ name => 'Remarks', secret => $secret } ],
		submit => named('Order now'), successIndicator => {
			type => 'textIncludes', value => 'Thank you' } });
	ok($r->{result}{success}, 'and on a page that tells it')
	    or diag explain $r;
	like(got($r), qr/remarks\s*\[secret\]/, 'is not told on');
	unlike($json->encode($r), qr/\Q$secret\E/, 'in the run');
	isnt(system('grep', '-rqsa', $secret, $i->state_dir), 0,
		'nor below the state directory');
};

subtest 'what is not there, what is refused' => sub {
	$site->reset;
	my $r = form('/try/form', [ [ 'Your name', 'x' ],
		[ 'shoe size', 42, css('#shoe') ] ]);
	error_is($r->{error}, 'ELEMENT_NOT_FOUND', 'ELEMENT_NOT_FOUND',
		'a field that is not there');
	like($r->{error}{message}, qr/shoe size.*#shoe/, 'is named');
	is($r->{error}{details}{failedStep}, 'fill_field', 'in its step');
	ok(!{ $site->fetched }->{'/echo'}, 'nothing was sent');

	my %good = (startUrl => $site->url('/try/form'));
	for my $bad ([], [ { name => 'x' } ], [ { value => 'x' } ],
		[ ({ name => 'x', value => 'y' }) x 21 ],
		[ { name => 'x', value => undef } ],
		[ { name => 'x', value => 'y', secret => 'z' } ],
		[ { name => 'x', colour => 'y' } ]) {
		$r = task($c, 'submit_and_verify', { %good, fields => $bad });
		is($r->{errorCode}, 'INVALID_PARAMETER',
			'refused: ' . substr $json->encode($bad), 0, 50);
	}
};

is($i->stop, 0, 'stops');
is(left(60, $site->{pid}), '', 'nothing is left');
$site->stop;
done_testing();
